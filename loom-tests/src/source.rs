//! A source file: the places of its functions and types, and its orderings.

// Only the programs of this package call these functions.
#![allow(clippy::missing_errors_doc)]

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::Path;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, Expr, ExprCall, ExprMethodCall, ExprPath, Ident, ImplItemFn, Item, ItemEnum,
    ItemFn, ItemStruct, Macro, TraitItemFn, UsePath, UseRename,
};

/// The result of a program, with the error that it prints.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The text of a file, and what the compiler sees in it outside of tests.
#[derive(Default)]
pub struct Source {
    text: String,
    named: Vec<Named>,
    weakenings: Vec<Weakening>,
    /// While the file is parsed: the calls in whose arguments the present place is.
    calls: Vec<(String, Range<usize>)>,
    /// An ordering that the program does not understand.
    unknown: Option<String>,
}

/// A function, or a type.
struct Named {
    name: String,
    whole: Range<usize>,
    /// The body of a function, with its braces.
    body: Option<Range<usize>>,
}

/// A place in the text, and the text that replaces it.
pub type Edit = (Range<usize>, String);

/// A weaker ordering that replaces one of the source.
pub struct Weakening {
    /// "Release, not `SeqCst`", or "no fence".
    pub how: String,
    /// The change of the text.
    pub edit: Edit,
}

impl Source {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(fs::read_to_string(path)?)
            .map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// Parses a text.
    pub fn parse(text: String) -> Result<Self> {
        let file = syn::parse_file(&text)?;
        let mut source = Self { text, ..Self::default() };
        source.visit_file(&file);
        Ok(source)
    }

    /// Returns the one place in a function, or in a type, that reads as `quote`. A blank of the quote stands for any
    /// white space of the source, with any comments. If several functions have this name, it is in one of them.
    pub fn find(&self, name: &str, quote: &str) -> Result<Range<usize>> {
        let mut named = self.named.iter().filter(|item| item.name == name).peekable();
        named.peek().ok_or_else(|| format!("there is no {name}"))?;
        let found: Vec<_> = named
            .flat_map(|Named { whole, .. }| {
                let starts =
                    self.text[whole.clone()].char_indices().map(|(at, _)| whole.start + at);
                starts.filter_map(|start| {
                    let len = length_of_quote(&self.text[start..whole.end], quote)?;
                    Some(start..start + len)
                })
            })
            .collect();
        match &*found {
            [range] => Ok(range.clone()),
            _ => Err(format!("found {} times in {name}: {quote}", found.len()).into()),
        }
    }

    /// Returns the text with these edits made at run time, each where the fault of its number is switched on: the body
    /// of a function is copied for each fault that changes it.
    pub fn with_switches<'a>(
        &self,
        edits: impl IntoIterator<Item = (usize, &'a Edit)>,
    ) -> Result<String> {
        /// The edits of one body, by the number of the fault.
        type ByFault<'e> = BTreeMap<usize, Vec<&'e Edit>>;

        let mut bodies: BTreeMap<usize, (&Range<usize>, ByFault)> = BTreeMap::new();
        for (number, edit) in edits {
            let (at, _) = edit;
            let has_it = |body: &Range<usize>| body.start < at.start && at.end < body.end;
            // Functions come before those inside them.
            let mut functions = self.named.iter().filter_map(|item| item.body.as_ref());
            let body = functions.find(|body| has_it(body)).ok_or("an edit outside of a body")?;
            let (_, by_fault) = bodies.entry(body.start).or_insert((body, BTreeMap::new()));
            by_fault.entry(number).or_default().push(edit);
        }
        let mut text = self.text.clone();
        for (body, by_fault) in bodies.into_values().rev() {
            let mut switched = String::from("{ ");
            for (number, edits) in by_fault {
                let changed = self.edited(body, &mut edits.into_iter());
                write!(switched, "if crate::sync::has_fault({number}) {changed} else ")?;
            }
            write!(switched, "{} }}", &self.text[body.clone()])?;
            text.replace_range(body.clone(), &switched);
        }
        Ok(text)
    }

    /// Returns the text with all these edits.
    #[must_use]
    pub fn with_edits(&self, edits: &[Edit]) -> String {
        self.edited(&(0..self.text.len()), &mut edits.iter())
    }

    /// Returns a part of the text, with edits.
    fn edited(&self, part: &Range<usize>, edits: &mut dyn Iterator<Item = &Edit>) -> String {
        let mut text = self.text[part.clone()].to_owned();
        let mut edits: Vec<_> = edits.collect();
        edits.sort_by_key(|(range, _)| range.end);
        let mut end = part.end;
        for (range, new) in edits.into_iter().rev() {
            // If an access has two exceptions, the later one is the weaker.
            if range.end <= end {
                text.replace_range(range.start - part.start..range.end - part.start, new);
                end = range.start;
            }
        }
        text
    }

    /// Returns each ordering made weaker: if it is `SeqCst`, first to Acquire, Release or both. Then each becomes
    /// Relaxed, or if it is that of a fence, the fence is removed.
    pub fn weakenings(&self) -> Result<&[Weakening]> {
        match &self.unknown {
            Some(unknown) => Err(format!("no ordering is looked for in {unknown}").into()),
            None => Ok(&self.weakenings),
        }
    }

    /// Returns the name of the innermost function around this place, and the line there, without the blanks around it.
    #[must_use]
    pub fn place(&self, at: usize) -> (&str, &str) {
        // Functions come before those inside them.
        let has_it = |item: &&Named| item.body.as_ref().is_some_and(|body| body.contains(&at));
        let function = self.named.iter().rfind(has_it).map_or("", |item| &item.name);
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        (function, self.text[start..].lines().next().unwrap_or_default().trim())
    }
}

/// Returns the length of the start of `text` that reads as `quote`, if it does.
fn length_of_quote(text: &str, quote: &str) -> Option<usize> {
    let mut words = quote.split_whitespace();
    let mut rest = text.strip_prefix(words.next()?)?;
    for word in words {
        let blank = after_blank(rest);
        if blank.len() == rest.len() {
            return None;
        }
        rest = blank.strip_prefix(word)?;
    }
    Some(text.len() - rest.len())
}

/// Returns `text` without the white space and the comments at its start.
fn after_blank(text: &str) -> &str {
    let mut rest = text.trim_start();
    while rest.starts_with("//") {
        rest = rest.split_once('\n').map_or("", |(_, after)| after).trim_start();
    }
    rest
}

/// Collects functions, types and orderings while a text is parsed.
impl Source {
    fn name(&mut self, name: &Ident, item: &impl Spanned, body: Option<&Block>) {
        self.named.push(Named {
            name: name.to_string(),
            whole: item.span().byte_range(),
            body: body.map(|body| body.span().byte_range()),
        });
    }

    fn call(&mut self, name: String, call: &impl Spanned, visit: impl FnOnce(&mut Self)) {
        self.calls.push((name, call.span().byte_range()));
        visit(self);
        self.calls.pop();
    }

    /// Adds the weaker orderings for an ordering that is an argument of this call.
    fn weaken(&mut self, ordering: &Ident, operation: &str, call: Range<usize>) {
        let (at, name) = (ordering.span().byte_range(), ordering.to_string());
        let mut weaken = |how, at, new: &str| {
            self.weakenings.push(Weakening { how, edit: (at, new.into()) });
        };
        let without_total_order = match operation {
            "load" => "Acquire",
            "store" | "store_word" | "set_first" | "set_fewer_copies" => "Release",
            _ => "AcqRel",
        };
        if name == "SeqCst" {
            weaken(format!("{without_total_order}, not {name}"), at.clone(), without_total_order);
        }
        if operation == "fence" {
            weaken("no fence".into(), call, "()");
        } else if name != "Relaxed" {
            weaken(format!("Relaxed, not {name}"), at, "Relaxed");
        }
    }
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Macro(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_left_out(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.name(&function.sig.ident, function, Some(&function.block));
        visit::visit_item_fn(self, function);
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.name(&item.ident, item, None);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.name(&item.ident, item, None);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_left_out(&function.attrs) {
            self.name(&function.sig.ident, function, Some(&function.block));
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        if let (Some(block), false) = (&function.default, is_left_out(&function.attrs)) {
            self.name(&function.sig.ident, function, Some(block));
            visit::visit_trait_item_fn(self, function);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        let name = match &*call.func {
            Expr::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        self.call(name.unwrap_or_default(), call, |source| {
            visit::visit_expr_call(source, call);
        });
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.visit_expr(&call.receiver);
        self.call(call.method.to_string(), call, |source| {
            for argument in &call.args {
                source.visit_expr(argument);
            }
        });
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        let mut names = path.path.segments.iter().rev().map(|segment| &segment.ident);
        let (Some(ordering), Some(of)) = (names.next(), names.next()) else { return };
        if of != "Ordering" {
            return;
        }
        match self.calls.last().cloned() {
            Some((operation, call)) => self.weaken(ordering, &operation, call),
            None => self.unknown = Some(format!("{ordering} outside of a call")),
        }
    }

    fn visit_use_path(&mut self, path: &'ast UsePath) {
        if path.ident == "Ordering" {
            self.unknown = Some("an import of single orderings".into());
        }
        visit::visit_use_path(self, path);
    }

    fn visit_use_rename(&mut self, renamed: &'ast UseRename) {
        if renamed.ident == "Ordering" {
            self.unknown = Some(format!("{}, another name of `Ordering`", renamed.rename));
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let tokens = call.tokens.to_string().replace(' ', "");
        if tokens.replace("Ordering::Relaxed", "").contains("Ordering::") {
            self.unknown = Some(tokens);
        }
    }
}

/// Returns whether the code is only for tests.
fn is_left_out(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let condition = attribute.meta.require_list().map(|list| list.tokens.to_string());
        condition.is_ok_and(|condition| condition.contains("test"))
    })
}
