//! The names that a place in a script can use.

use super::syntax::{Expr, Place};
use super::value::Text;

/// The functions around a place, the innermost last.
#[derive(Default)]
pub(crate) struct Scope(Vec<Function>);

#[derive(Default)]
struct Function {
    takes_more: bool,
    locals: Vec<Text>,
    captures: Vec<(Text, Place)>,
}

impl Scope {
    pub(crate) fn enter(&mut self, parameters: Vec<Text>, takes_more: bool) {
        self.0.push(Function { takes_more, locals: parameters, captures: Vec::new() });
    }

    /// What the function that ends uses of those around it.
    pub(crate) fn leave(&mut self) -> Vec<Place> {
        let ended = self.0.pop().unwrap_or_default();
        ended.captures.into_iter().map(|(_, place)| place).collect()
    }

    pub(crate) fn takes_more(&self) -> bool {
        self.0.last().is_some_and(|function| function.takes_more)
    }

    pub(crate) fn declare(&mut self, names: Vec<Text>) {
        if let Some(function) = self.0.last_mut() {
            function.locals.extend(names);
        }
    }

    /// How many names the function has here.
    pub(crate) fn height(&self) -> usize {
        self.0.last().map_or(0, |function| function.locals.len())
    }

    pub(crate) fn fall_to(&mut self, height: usize) {
        if let Some(function) = self.0.last_mut() {
            function.locals.truncate(height);
        }
    }

    pub(crate) fn variable(&mut self, name: &Text) -> Expr {
        match place(&mut self.0, name) {
            Some(place) => Expr::Variable(place),
            None => Expr::Global(name.clone()),
        }
    }
}

/// Where the last of these functions has the name, from its own or from those around it.
fn place(functions: &mut [Function], name: &Text) -> Option<Place> {
    let (function, around) = functions.split_last_mut()?;
    if let Some(at) = function.locals.iter().rposition(|local| local == name) {
        return Some(Place::Local(at));
    }
    // A name that was declared anew around it since then has another place.
    let outer = place(around, name)?;
    let captures = &mut function.captures;
    let known = captures.iter().position(|(captured, from)| captured == name && *from == outer);
    Some(Place::Captured(known.unwrap_or_else(|| {
        captures.push((name.clone(), outer));
        captures.len() - 1
    })))
}
