//! `#[wide]`: bodies and closures that are compiled for the instructions of their number type.
//!
//! Each stands there twice, and the number type chooses one when code is made for it: what goes through
//! a closure for numbers side by side stays as it was written for all others, which need no such help
//! and are inlined as before.

use proc_macro2::TokenStream as Tokens;
use quote::ToTokens;
use syn::visit_mut::{VisitMut, visit_expr_closure_mut};
use syn::{
    Attribute, Error, Expr, ExprClosure, GenericParam, Generics, Ident, ItemFn, Result, Stmt,
    TypeParamBound, parse_quote,
};

/// The parameter that is a number: the one bound by `Num`.
fn number(generics: &Generics) -> Option<Ident> {
    generics.params.iter().find_map(|parameter| {
        let GenericParam::Type(parameter) = parameter else { return None };
        let is_number = |bound: &TypeParamBound| match bound {
            TypeParamBound::Trait(bound) => {
                bound.path.segments.last().is_some_and(|name| name.ident == "Num")
            }
            _ => false,
        };
        parameter.bounds.iter().any(is_number).then(|| parameter.ident.clone())
    })
}

fn gives_a_closure(body: &Expr) -> bool {
    match body {
        Expr::Closure(_) => true,
        Expr::Block(block) => match block.block.stmts.last() {
            Some(Stmt::Expr(last, None)) => gives_a_closure(last),
            _ => false,
        },
        _ => false,
    }
}

struct Closures {
    number: Ident,
    count: usize,
}

impl VisitMut for Closures {
    fn visit_expr_closure_mut(&mut self, closure: &mut ExprClosure) {
        visit_expr_closure_mut(self, closure);
        // What gives a closure is short, and would be of two types.
        if !gives_a_closure(&closure.body) {
            self.count += 1;
            let (number, body) = (&self.number, &closure.body);
            *closure.body =
                parse_quote!({ if #number::IS_WIDE { #number::within(|| #body) } else { #body } });
        }
    }
    // A function within has numbers of its own.
    fn visit_item_fn_mut(&mut self, _: &mut ItemFn) {}
}

/// Such a body becomes part of its caller's, whatever its length.
fn is_always_inlined(attribute: &Attribute) -> bool {
    attribute.path().is_ident("inline")
        && attribute.parse_args::<Ident>().is_ok_and(|how| how == "always")
}

pub(crate) fn expand(mut item: ItemFn) -> Result<Tokens> {
    // That of a block has it from there, and by custom it is called T.
    let number = number(&item.sig.generics).unwrap_or_else(|| parse_quote!(T));
    let mut closures = Closures { number: number.clone(), count: 0 };
    closures.visit_block_mut(&mut item.block);
    if !item.attrs.iter().any(is_always_inlined) {
        let (result, block) = (&item.sig.output, &item.block);
        *item.block = parse_quote!({
            if #number::IS_WIDE { #number::within(move || #result #block) } else { #block }
        });
    } else if closures.count == 0 {
        let nothing = "inlined in any case and without closures: #[wide] changes nothing here";
        return Err(Error::new_spanned(item.sig.ident, nothing));
    }
    Ok(item.into_token_stream())
}
