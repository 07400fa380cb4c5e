//! The attributes that turn a documented struct into a component.
//!
//! `#[component("domain.name", q, constants = K)]` reads ports, parameters, states and outputs from
//! the fields, each with a one-line comment of fixed shape, *symbol — meaning \[unit\]*, and writes
//! the declaration that documentation, checks, messages and importers share. `#[derive(Constants)]`
//! lets the constants of a step change their number type.

mod wide;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Fields, Ident, ItemStruct, Lit, Result, Token, Type,
};

/// Declares a component; see the crate's documentation and the book, "How to write a component".
#[proc_macro_attribute]
pub fn component(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = syn::parse_macro_input!(arguments as Arguments);
    let item = syn::parse_macro_input!(item as ItemStruct);
    expand_component(arguments, item).unwrap_or_else(Error::into_compile_error).into()
}

/// Lets constants be lifted to another number type: writes `map(&self, f) -> Self<U>`.
///
/// Fields of type `T`, `[T; N]` and `Other<T>` are converted (the last by its own `map`), all
/// others are cloned.
#[proc_macro_derive(Constants)]
pub fn constants(item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as DeriveInput);
    expand_constants(item).unwrap_or_else(Error::into_compile_error).into()
}

/// Compiles a function of the physics for the instructions of its number type: its body, and every
/// closure in it, go through `Num::within`.
///
/// A function of the physics is generic, and does not know that it will compute numbers side by side
/// in vector instructions; what the compiler inlines into code that knows is compiled for them, and
/// what it finds too long is not. This is for all that is too long, or called in several places. A
/// function that is `#[inline(always)]` needs it for its closures alone.
#[proc_macro_attribute]
pub fn wide(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if !arguments.is_empty() {
        let message = "#[wide] takes no arguments";
        return Error::new(proc_macro2::Span::call_site(), message).into_compile_error().into();
    }
    let item = syn::parse_macro_input!(item as syn::ItemFn);
    wide::expand(item).unwrap_or_else(Error::into_compile_error).into()
}

/// One `flag` or `key = value`.
struct Argument {
    name: Ident,
    value: Option<ArgumentValue>,
}

enum ArgumentValue {
    Text(String),
    Path(syn::Path),
}

impl Parse for Argument {
    fn parse(input: ParseStream) -> Result<Self> {
        let name: Ident = input.parse()?;
        if !input.peek(Token![=]) {
            return Ok(Self { name, value: None });
        }
        input.parse::<Token![=]>()?;
        let negative = input.parse::<Option<Token![-]>>()?.is_some();
        let value = if input.peek(Lit) {
            let text = match input.parse::<Lit>()? {
                Lit::Str(s) => s.value(),
                Lit::Int(i) => i.base10_digits().to_owned(),
                Lit::Float(x) => x.base10_digits().to_owned(),
                Lit::Bool(b) => b.value.to_string(),
                other => return Err(Error::new(other.span(), "expected text or a number")),
            };
            ArgumentValue::Text(if negative { format!("-{text}") } else { text })
        } else {
            ArgumentValue::Path(input.parse()?)
        };
        Ok(Self { name, value: Some(value) })
    }
}

struct Arguments {
    name: syn::LitStr,
    rest: Vec<Argument>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream) -> Result<Self> {
        let name = input.parse()?;
        let mut rest = Vec::new();
        while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            rest.push(input.parse()?);
        }
        Ok(Self { name, rest })
    }
}

/// The arguments of a field's attribute, with each key checked.
struct Options(Vec<Argument>);

impl Options {
    fn of(attribute: &Attribute, allowed: &[&str]) -> Result<Self> {
        let list = match &attribute.meta {
            syn::Meta::Path(_) => Vec::new(),
            _ => attribute
                .parse_args_with(Punctuated::<Argument, Token![,]>::parse_terminated)?
                .into_iter()
                .collect(),
        };
        for argument in &list {
            if !allowed.iter().any(|a| argument.name == a) {
                let message = format!("expected one of {}", allowed.join(", "));
                return Err(Error::new(argument.name.span(), message));
            }
        }
        Ok(Self(list))
    }
    fn flag(&self, name: &str) -> bool {
        self.0.iter().any(|a| a.name == name && a.value.is_none())
    }
    fn texts(&self, name: &str) -> Vec<&str> {
        self.0
            .iter()
            .filter(|a| a.name == name)
            .filter_map(|a| match &a.value {
                Some(ArgumentValue::Text(text)) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }
    fn text(&self, name: &str) -> Option<&str> {
        self.texts(name).first().copied()
    }
}

fn option_tokens(text: Option<&str>) -> Tokens {
    match text {
        Some(text) => quote!(::core::option::Option::Some(#text)),
        None => quote!(::core::option::Option::None),
    }
}

fn doc_of(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && let syn::Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) = &pair.value
        {
            lines.push(text.value().strip_prefix(' ').unwrap_or(&text.value()).to_owned());
        }
    }
    lines.join("\n")
}

/// Splits *symbol — meaning [unit]*.
fn symbol_meaning_unit(doc: &str, span: proc_macro2::Span) -> Result<(String, String, String)> {
    let line = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let shape = "document it as `symbol — meaning [unit]`, with [–] for no unit";
    let (symbol, rest) = line.split_once(" — ").ok_or_else(|| Error::new(span, shape))?;
    let (meaning, unit) = rest.rsplit_once(" [").ok_or_else(|| Error::new(span, shape))?;
    let unit = unit.strip_suffix(']').ok_or_else(|| Error::new(span, shape))?;
    let unit = if unit == "–" || unit == "-" { "1" } else { unit };
    Ok((symbol.to_owned(), meaning.to_owned(), unit.to_owned()))
}

fn expand_component(arguments: Arguments, mut item: ItemStruct) -> Result<Tokens> {
    let type_name = item.ident.clone();
    let doc = doc_of(&item.attrs);
    let mut causality = None;
    let mut constants = quote!(::fluxline_core::component::NoConstants<T>);
    let mut aliases = Vec::new();
    for argument in &arguments.rest {
        match (argument.name.to_string().as_str(), &argument.value) {
            ("c", None) => causality = Some(format_ident!("C")),
            ("q", None) => causality = Some(format_ident!("Q")),
            ("s", None) => causality = Some(format_ident!("S")),
            ("constants", Some(ArgumentValue::Path(path))) => constants = quote!(#path<T>),
            ("also", Some(ArgumentValue::Text(text))) => aliases.push(text.clone()),
            _ => {
                return Err(Error::new(
                    argument.name.span(),
                    "expected c, q, s, constants or also",
                ));
            }
        }
    }
    let causality = causality
        .ok_or_else(|| Error::new(arguments.name.span(), "say whether it is of type c, q or s"))?;

    let Fields::Named(fields) = &mut item.fields else {
        return Err(Error::new(item.ident.span(), "a component has named fields"));
    };
    let mut kept = Punctuated::<syn::Field, Token![,]>::new();
    let (mut ports, mut parameters, mut states, mut outputs, mut memory) =
        (vec![], vec![], vec![], vec![], vec![]);
    let (mut indices, mut readers) = (vec![], vec![]);
    let mut input_count = 0usize;
    for mut field in std::mem::take(&mut fields.named) {
        let name = field.ident.clone().ok_or_else(|| Error::new(field.span(), "needs a name"))?;
        let text = name.to_string();
        let kinds = ["port", "parameter", "input", "state", "output", "memory"];
        let position = field
            .attrs
            .iter()
            .position(|a| kinds.iter().any(|k| a.path().is_ident(k)))
            .ok_or_else(|| Error::new(field.span(), format!("mark it as {}", kinds.join(", "))))?;
        let attribute = field.attrs.remove(position);
        let kind = attribute.path().get_ident().map(Ident::to_string).unwrap_or_default();
        let field_doc = doc_of(&field.attrs);
        let constant = format_ident!("{}", text.to_uppercase());
        let index = match kind.as_str() {
            "port" => {
                let options = Options::of(
                    &attribute,
                    &["name", "many", "optional", "observes", "side", "also"],
                )?;
                let text = options.text("name").unwrap_or(&text);
                let Type::Path(path) = &field.ty else {
                    return Err(Error::new(field.ty.span(), "the type names the domain"));
                };
                let domain = &path.path.segments[path.path.segments.len() - 1].ident;
                let (many, optional) = (options.flag("many"), options.flag("optional"));
                let observes = options.flag("observes");
                let side = match options.text("side") {
                    Some("b") => quote!(B),
                    Some("a") => quote!(A),
                    None if text == "b" => quote!(B),
                    None => quote!(A),
                    _ => return Err(Error::new(name.span(), "side is \"a\" or \"b\"")),
                };
                let also = options.texts("also");
                let meaning = field_doc.split_whitespace().collect::<Vec<_>>().join(" ");
                ports.push(quote!(::fluxline_core::declare::Port {
                    name: #text,
                    meaning: #meaning,
                    domain: ::fluxline_core::domain::Domain::#domain,
                    many: #many,
                    optional: #optional,
                    observes: #observes,
                    side: ::fluxline_core::declare::Side::#side,
                    aliases: &[#(#also),*],
                }));
                ports.len() - 1
            }
            "parameter" | "input" => {
                let options = Options::of(&attribute, &["name", "default", "min", "max", "also"])?;
                let text = options.text("name").unwrap_or(&text);
                let (symbol, meaning, unit) = symbol_meaning_unit(&field_doc, name.span())?;
                let default = option_tokens(options.text("default"));
                let min = option_tokens(options.text("min"));
                let max = option_tokens(options.text("max"));
                let also = options.texts("also");
                let ty = &field.ty;
                let input = if kind == "input" {
                    let index = input_count;
                    input_count += 1;
                    quote!(::core::option::Option::Some(#index))
                } else {
                    quote!(::core::option::Option::None)
                };
                parameters.push(quote!(::fluxline_core::declare::Parameter {
                    name: #text,
                    symbol: #symbol,
                    meaning: #meaning,
                    unit: #unit,
                    kind: <#ty as ::fluxline_core::declare::ParameterValue>::KIND,
                    default: #default,
                    min: #min,
                    max: #max,
                    aliases: &[#(#also),*],
                    input: #input,
                }));
                let index = parameters.len() - 1;
                readers.push(quote!(
                    #name: ::fluxline_core::declare::ParameterValue::from_value(values.get(#index)?)?
                ));
                // Brackets around a unit would read as a link to the documentation tool.
                field.attrs.retain(|a| !a.path().is_ident("doc"));
                let escaped = field_doc.replace('[', "\\[").replace(']', "\\]");
                field.attrs.push(syn::parse_quote!(#[doc = #escaped]));
                kept.push(field.clone());
                if kind == "input" { input_count - 1 } else { index }
            }
            _ => {
                let options = Options::of(&attribute, &["name", "start", "counts", "also"])?;
                let text = options.text("name").unwrap_or(&text);
                let (symbol, meaning, unit) = symbol_meaning_unit(&field_doc, name.span())?;
                let start = options.text("start").unwrap_or("0");
                let counts = match options.text("counts") {
                    None => quote!(Nothing),
                    Some("limit") => quote!(Limit),
                    Some("cavitation") => quote!(Cavitation),
                    _ => return Err(Error::new(name.span(), "counts limit or cavitation")),
                };
                let also = options.texts("also");
                let variable = quote!(::fluxline_core::declare::Variable {
                    name: #text,
                    symbol: #symbol,
                    meaning: #meaning,
                    unit: #unit,
                    start: #start,
                    counts: ::fluxline_core::declare::Counts::#counts,
                    aliases: &[#(#also),*],
                });
                let list = match kind.as_str() {
                    "state" => &mut states,
                    "output" => &mut outputs,
                    _ => &mut memory,
                };
                list.push(variable);
                list.len() - 1
            }
        };
        let about = format!("Index of `{text}` among its kind.");
        indices.push(quote!(#[doc = #about] pub const #constant: usize = #index;));
    }
    fields.named = kept;
    let type_text = &arguments.name;
    Ok(quote! {
        #item

        impl #type_name {
            #(#indices)*
        }

        impl ::fluxline_core::component::Declared for #type_name {
            const DECLARATION: &'static ::fluxline_core::declare::Declaration =
                &::fluxline_core::declare::Declaration {
                    name: #type_text,
                    doc: #doc,
                    causality: ::fluxline_core::declare::Causality::#causality,
                    aliases: &[#(#aliases),*],
                    ports: &[#(#ports),*],
                    parameters: &[#(#parameters),*],
                    states: &[#(#states),*],
                    outputs: &[#(#outputs),*],
                    memory: &[#(#memory),*],
                };
            type Constants<T: ::fluxline_core::number::Num> = #constants;
            fn from_values(
                values: &[::fluxline_core::declare::Value],
            ) -> ::core::option::Option<Self> {
                let _ = values;
                ::core::option::Option::Some(Self { #(#readers),* })
            }
            fn lift<T: ::fluxline_core::number::Num, U: ::fluxline_core::number::Num>(
                constants: &Self::Constants<T>,
                f: &mut dyn ::core::ops::FnMut(T) -> U,
            ) -> Self::Constants<U> {
                constants.map(f)
            }
            fn agrees<T: ::fluxline_core::number::Num>(
                one: &Self::Constants<T>,
                other: &Self::Constants<T>,
            ) -> bool {
                one.agrees(other)
            }
        }
    })
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("T"))
}

fn mentions_number(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.iter().any(|segment| match &segment.arguments {
        syn::PathArguments::AngleBracketed(list) => {
            list.args.iter().any(|a| matches!(a, syn::GenericArgument::Type(t) if is_number(t)))
        }
        _ => false,
    })
}

fn expand_constants(item: DeriveInput) -> Result<Tokens> {
    let name = &item.ident;
    let Data::Struct(data) = &item.data else {
        return Err(Error::new(name.span(), "constants are a struct"));
    };
    let (mut members, mut agreements) = (Vec::new(), Vec::new());
    for field in &data.fields {
        let Some(ident) = &field.ident else {
            return Err(Error::new(field.span(), "constants have named fields"));
        };
        let value = match &field.ty {
            ty if is_number(ty) => quote!(f(self.#ident)),
            Type::Array(array) if is_number(&array.elem) => {
                quote!(self.#ident.map(|x| f(x)))
            }
            Type::Array(array) if mentions_number(&array.elem) => {
                quote!(::core::array::from_fn(|i| self.#ident[i].map(f)))
            }
            ty if mentions_number(ty) => quote!(self.#ident.map(f)),
            _ => quote!(self.#ident.clone()),
        };
        members.push(quote!(#ident: #value));
        match &field.ty {
            ty if is_number(ty) => {}
            Type::Array(array) if is_number(&array.elem) => {}
            Type::Array(array) if mentions_number(&array.elem) => agreements.push(quote!(
                self.#ident.iter().zip(&other.#ident).all(|(one, other)| one.agrees(other))
            )),
            ty if mentions_number(ty) => agreements.push(quote!(self.#ident.agrees(&other.#ident))),
            _ => agreements.push(quote!(self.#ident == other.#ident)),
        }
    }
    Ok(quote! {
        impl<T: ::fluxline_core::number::Num> #name<T> {
            /// The same constants in another number type.
            #[allow(clippy::clone_on_copy, reason = "fields may be of any type")]
            pub fn map<U: ::fluxline_core::number::Num>(
                &self,
                f: &mut dyn ::core::ops::FnMut(T) -> U,
            ) -> #name<U> {
                let _ = &f;
                #name { #(#members),* }
            }

            /// Whether they differ in numbers alone: what is chosen or counted is the same.
            pub fn agrees(&self, other: &Self) -> bool {
                let _ = other;
                true #(&& #agreements)*
            }
        }
    })
}
