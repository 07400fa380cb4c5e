//! A file as a tree of elements, each with its place.
//!
//! The tree lies flat in a few vectors, so that neither reading nor dropping it recurses. Of entities only the five
//! predefined ones and numeric ones are expanded; a document type that declares others is refused.

mod decode;

use fluxline_diagnostics::{Code, Diagnostic, Diagnostics, SourceId, SourceMap, Span};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::borrow::Cow;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Larger files are refused.
pub const MAX_FILE: u64 = 256 << 20;
/// Elements within elements.
pub const MAX_DEPTH: usize = 256;
/// Elements in all; a component takes about thirty.
pub const MAX_ELEMENTS: usize = 16_000_000;
/// Attributes in all.
pub const MAX_ATTRIBUTES: usize = 64_000_000;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Range32 {
    start: u32,
    end: u32,
}

impl Range32 {
    fn new(range: std::ops::Range<usize>) -> Self {
        Range32 { start: range.start as u32, end: range.end as u32 }
    }
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

#[derive(Debug)]
struct Node {
    name: Range32,
    /// The start tag up to its `>`.
    tag: Range32,
    /// One past the last byte of the end tag.
    end: u32,
    first_child: u32,
    last_child: u32,
    next: u32,
    attributes: Range32,
    /// Index into the texts, for elements with more than white space in them.
    text: u32,
}

#[derive(Debug)]
struct Attribute {
    name: Range32,
    value: Range32,
    /// The value, where it differs from what stands in the file.
    unescaped: Option<Box<str>>,
}

/// A file, read.
#[derive(Debug)]
pub struct Document {
    source: SourceId,
    text: Arc<str>,
    nodes: Vec<Node>,
    attributes: Vec<Attribute>,
    texts: Vec<String>,
}

/// An element of a [`Document`].
#[derive(Clone, Copy)]
pub struct Element<'a> {
    document: &'a Document,
    index: u32,
}

/// The bytes of a file.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let name = path.display();
    let refused = |error: std::io::Error| {
        let message = format!("`{name}` cannot be read: {error}");
        Diagnostic::error(Code::CannotRead, message)
            .help("check the name, the folder and the permissions")
    };
    let file = std::fs::File::open(path).map_err(refused)?;
    let is_folder = file.metadata().is_ok_and(|data| data.is_dir());
    if is_folder {
        let message = format!("`{name}` cannot be read: it is a folder");
        return Err(Diagnostic::error(Code::CannotRead, message));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(refused)?;
    Ok(bytes)
}

/// Reads a file from its bytes. Doubts are pushed; `None` comes with an error.
pub fn parse(
    name: &str,
    bytes: Vec<u8>,
    sources: &mut SourceMap,
    found: &mut Diagnostics,
) -> Option<Document> {
    if bytes.len() as u64 > MAX_FILE {
        let message = format!("`{name}` has more than {} MiB", MAX_FILE >> 20);
        found.push(Diagnostic::error(Code::FileTooLarge, message).help("is it the right file?"));
        return None;
    }
    let decoded = decode::decode(bytes);
    let source = sources.add(name, decoded.text);
    let text = Arc::clone(sources.get(source)?.text());
    if let Some(doubt) = decoded.doubt {
        found.push(
            Diagnostic::warning(Code::EncodingGuessed, format!("`{name}`: {doubt}"))
                .help("letters such as å, µ or ° may be wrong; save the file as UTF-8"),
        );
    }
    let mut builder = Builder {
        document: Document {
            source,
            text: Arc::clone(&text),
            nodes: Vec::new(),
            attributes: Vec::new(),
            texts: Vec::new(),
        },
        open: Vec::new(),
        found,
    };
    match builder.read(&text) {
        Ok(()) => Some(builder.document),
        Err(error) => {
            found.push(error);
            None
        }
    }
}

struct Builder<'d> {
    document: Document,
    /// Elements begun and not ended, outermost first.
    open: Vec<u32>,
    found: &'d mut Diagnostics,
}

impl Builder<'_> {
    fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span::new(self.document.source, range)
    }

    fn broken(&self, at: usize, what: impl Into<String>, label: &str) -> Diagnostic {
        let end = self.document.text.len().min(at + 1);
        Diagnostic::error(Code::InvalidXml, what)
            .at(self.span(at.min(end)..end), label)
            .help("the file may have been cut off or edited by hand; save it again in its program")
    }

    fn too_much(&self, at: usize, what: String) -> Diagnostic {
        Diagnostic::error(Code::FileTooLarge, what)
            .at(self.span(at..at + 1), "here the limit is passed")
            .help("is it the right file?")
    }

    fn read(&mut self, text: &str) -> Result<(), Diagnostic> {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.check_end_names = true;
        config.allow_dangling_amp = true;
        loop {
            let at = reader.buffer_position() as usize;
            let event = match reader.read_event() {
                Ok(event) => event,
                Err(error) => {
                    let at = (reader.error_position() as usize).min(text.len());
                    let name = self.name_of_open();
                    let message = match name {
                        Some(name) => format!("the XML is broken inside `{name}`: {error}"),
                        None => format!("the XML is broken: {error}"),
                    };
                    return Err(self.broken(at, message, "not understood from here"));
                }
            };
            match event {
                Event::Start(tag) => {
                    let index = self.begin(text, at, reader.buffer_position() as usize, &tag)?;
                    self.open.push(index);
                }
                Event::Empty(tag) => {
                    self.begin(text, at, reader.buffer_position() as usize, &tag)?;
                }
                Event::End(_) => {
                    let end = reader.buffer_position() as u32;
                    if let Some(index) = self.open.pop() {
                        self.document.nodes[index as usize].end = end;
                    }
                }
                Event::Text(content) => self.text(at, &content.into_inner())?,
                Event::CData(content) => self.text(at, &content.into_inner())?,
                Event::GeneralRef(reference) => {
                    let reference = reference.into_inner();
                    match entity(&reference) {
                        Some(character) => {
                            let mut buffer = [0; 4];
                            self.text(at, character.encode_utf8(&mut buffer))?;
                        }
                        None => {
                            self.unknown_entity(at, &reference);
                            self.text(at, &format!("&{reference};"))?;
                        }
                    }
                }
                Event::DocType(content) => {
                    if content.into_inner().contains("<!ENTITY") {
                        let message =
                            "the file declares entities of its own, which is not supported";
                        return Err(self.broken(at, message, "this document type"));
                    }
                }
                Event::Comment(_) | Event::PI(_) | Event::Decl(_) => {}
                Event::Eof => break,
            }
        }
        if let Some(&index) = self.open.last() {
            let tag = self.document.nodes[index as usize].tag.range();
            let name = self.name_of_open().unwrap_or_default();
            let message = format!("the file ends inside `{name}`");
            let error = self.broken(text.len(), message, "the file ends here");
            return Err(error.also(self.span(tag), "begun here, never ended"));
        }
        if self.document.nodes.is_empty() {
            return Err(self.broken(0, "the file holds no XML element", "expected `<` here"));
        }
        Ok(())
    }

    fn name_of_open(&self) -> Option<String> {
        let index = *self.open.last()?;
        let name = self.document.nodes[index as usize].name.range();
        self.document.text.get(name).map(str::to_owned)
    }

    fn unknown_entity(&mut self, at: usize, reference: &str) {
        let reference: String = reference.chars().take(20).collect();
        let span = self.span(at..at + 1);
        self.found.push(
            Diagnostic::warning(
                Code::OddAttribute,
                format!("`&{reference}` is no known entity and is kept as it stands"),
            )
            .at(span, "")
            .help("an ampersand is written `&amp;` in XML"),
        );
    }

    fn begin(
        &mut self,
        text: &str,
        at: usize,
        end: usize,
        tag: &BytesStart<'_>,
    ) -> Result<u32, Diagnostic> {
        let document = &mut self.document;
        if document.nodes.len() >= MAX_ELEMENTS {
            return Err(
                self.too_much(at, format!("the file has more than {MAX_ELEMENTS} elements"))
            );
        }
        if self.open.len() >= MAX_DEPTH {
            let message = format!("elements are nested more than {MAX_DEPTH} deep");
            return Err(self.too_much(at, message));
        }
        if self.open.is_empty() && !document.nodes.is_empty() {
            return Err(self.broken(at, "the file has a second root element", "begun here"));
        }
        let index = document.nodes.len() as u32;
        let name = at + 1..at + 1 + tag.name().as_ref().len();
        let first_attribute = document.attributes.len();
        let base = text.as_ptr() as usize;
        for attribute in tag.attributes().with_checks(false) {
            let attribute = match attribute {
                Ok(attribute) => attribute,
                Err(error) => {
                    let name = text.get(name).unwrap_or_default();
                    let message = format!("the attributes of `{name}` cannot be read: {error}");
                    return Err(self.broken(at, message, "in this element"));
                }
            };
            if self.document.attributes.len() >= MAX_ATTRIBUTES {
                let message = format!("the file has more than {MAX_ATTRIBUTES} attributes");
                return Err(self.too_much(at, message));
            }
            let key: &str = attribute.key.into_inner();
            // The reader borrows from the text, so the places of its parts tell their offsets.
            let offset = |part: &str| {
                let start = (part.as_ptr() as usize).checked_sub(base).filter(|&s| s < text.len());
                start.map_or(at..at, |start| start..start + part.len())
            };
            let key = offset(key);
            let (value, unescaped) = match &attribute.value {
                Cow::Borrowed(value) => {
                    let range = offset(value);
                    (range.clone(), self.unescape(range.start, value))
                }
                Cow::Owned(value) => (key.clone(), Some(value.clone().into_boxed_str())),
            };
            let (name, value) = (Range32::new(key), Range32::new(value));
            self.document.attributes.push(Attribute { name, value, unescaped });
        }
        let document = &mut self.document;
        let attributes = Range32::new(first_attribute..document.attributes.len());
        document.nodes.push(Node {
            name: Range32::new(name),
            tag: Range32::new(at..end),
            end: end as u32,
            first_child: NONE,
            last_child: NONE,
            next: NONE,
            attributes,
            text: NONE,
        });
        if let Some(&parent) = self.open.last() {
            let last = std::mem::replace(&mut document.nodes[parent as usize].last_child, index);
            match last {
                NONE => document.nodes[parent as usize].first_child = index,
                last => document.nodes[last as usize].next = index,
            }
        }
        Ok(index)
    }

    /// The value of an attribute, if it holds entities.
    fn unescape(&mut self, at: usize, value: &str) -> Option<Box<str>> {
        let mut rest = value;
        let mut plain = String::new();
        while let Some(position) = rest.find('&') {
            plain.push_str(&rest[..position]);
            let after = &rest[position + 1..];
            let reference = after.bytes().take(16).position(|byte| byte == b';');
            let found = reference.and_then(|end| Some((entity(&after[..end])?, end + 1)));
            match found {
                Some((character, length)) => {
                    plain.push(character);
                    rest = &after[length..];
                }
                None => {
                    self.unknown_entity(at + (value.len() - rest.len()) + position, after);
                    plain.push('&');
                    rest = after;
                }
            }
        }
        if plain.is_empty() && rest.len() == value.len() {
            return None;
        }
        plain.push_str(rest);
        Some(plain.into_boxed_str())
    }

    fn text(&mut self, at: usize, content: &str) -> Result<(), Diagnostic> {
        let Some(&index) = self.open.last() else {
            return match content.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty() {
                true => Ok(()),
                false => {
                    let at = at + (content.len() - content.trim_start().len());
                    Err(self.broken(at, "there is text outside of the root element", "here"))
                }
            };
        };
        let node = &mut self.document.nodes[index as usize];
        if node.text == NONE {
            // Most of it is only indentation.
            if content.trim_ascii().is_empty() {
                return Ok(());
            }
            node.text = self.document.texts.len() as u32;
            self.document.texts.push(String::new());
        }
        self.document.texts[node.text as usize].push_str(content);
        Ok(())
    }
}

/// What an entity stands for; `None` for one that only a document type could define.
fn entity(reference: &str) -> Option<char> {
    match reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = reference.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code).filter(|&character| character != '\0')
        }
    }
}

impl Document {
    /// The outermost element.
    pub fn root(&self) -> Element<'_> {
        Element { document: self, index: 0 }
    }

    /// The file.
    pub fn source(&self) -> SourceId {
        self.source
    }
}

impl<'a> Element<'a> {
    fn node(self) -> &'a Node {
        &self.document.nodes[self.index as usize]
    }

    fn slice(self, range: Range32) -> &'a str {
        self.document.text.get(range.range()).unwrap_or_default()
    }

    /// Its name.
    pub fn name(self) -> &'a str {
        self.slice(self.node().name)
    }

    fn find(self, name: &str) -> Option<&'a Attribute> {
        let range = self.node().attributes.range();
        self.document.attributes[range].iter().find(|attribute| self.slice(attribute.name) == name)
    }

    /// The value of an attribute; of two with the same name, the first.
    pub fn attribute(self, name: &str) -> Option<&'a str> {
        let attribute = self.find(name)?;
        Some(attribute.unescaped.as_deref().unwrap_or_else(|| self.slice(attribute.value)))
    }

    /// All attributes, in the order of the file.
    pub fn attributes(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.document.attributes[self.node().attributes.range()].iter().map(move |attribute| {
            let value = attribute.unescaped.as_deref();
            (self.slice(attribute.name), value.unwrap_or_else(|| self.slice(attribute.value)))
        })
    }

    /// Where the value of an attribute stands; the start tag if there is no such attribute.
    pub fn attribute_span(self, name: &str) -> Span {
        match self.find(name) {
            Some(attribute) => Span::new(self.document.source, attribute.value.range()),
            None => self.span(),
        }
    }

    /// Where its start tag stands.
    pub fn span(self) -> Span {
        Span::new(self.document.source, self.node().tag.range())
    }

    /// Where all of it stands.
    pub fn whole_span(self) -> Span {
        let node = self.node();
        Span::new(self.document.source, node.tag.start as usize..node.end as usize)
    }

    /// Its text, without that of its children; empty if there is only white space.
    pub fn text(self) -> &'a str {
        match self.node().text {
            NONE => "",
            index => &self.document.texts[index as usize],
        }
    }

    /// Its children, in the order of the file.
    pub fn children(self) -> impl Iterator<Item = Element<'a>> {
        let document = self.document;
        let at = |index: u32| (index != NONE).then_some(Element { document, index });
        std::iter::successors(at(self.node().first_child), move |child| at(child.node().next))
    }

    /// The children of a name.
    pub fn children_named(self, name: &'a str) -> impl Iterator<Item = Element<'a>> {
        self.children().filter(move |child| child.name() == name)
    }

    /// The first child of a name.
    pub fn child(self, name: &str) -> Option<Element<'a>> {
        self.children().find(|child| child.name() == name)
    }

    /// Whether there is nothing in it: no attributes, no children, no text.
    pub fn is_empty(self) -> bool {
        let node = self.node();
        node.first_child == NONE && node.text == NONE && node.attributes.range().is_empty()
    }
}

impl std::fmt::Debug for Element<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{}>", self.name())
    }
}
