//! A script as it is run: names are places already.

use std::sync::Arc;

use super::value::Text;

pub(crate) type Block = Vec<Line>;

pub(crate) struct Line {
    pub(crate) number: u32,
    pub(crate) statement: Statement,
}

/// A function's text.
pub(crate) struct Body {
    pub(crate) parameters: usize,
    pub(crate) takes_more: bool,
    /// The variables around it that it uses.
    pub(crate) captures: Vec<Place>,
    pub(crate) block: Block,
}

/// Where a variable is, in the function that uses it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    Local(usize),
    Captured(usize),
}

pub(crate) enum Statement {
    Local(usize, Vec<Expr>),
    LocalFunction(Arc<Body>),
    Assign(Vec<Expr>, Vec<Expr>),
    Call(Expr),
    Do(Block),
    While(Expr, Block),
    Repeat(Block, Expr),
    If(Vec<(Expr, Block)>, Block),
    /// From, to, step.
    For([Expr; 3], Block),
    ForIn(usize, Vec<Expr>, Block),
    Return(Vec<Expr>),
    Break,
}

pub(crate) enum Expr {
    Nil,
    Bool(bool),
    Number(f64),
    Text(Text),
    More,
    Variable(Place),
    Global(Text),
    Index(Box<(Self, Self)>),
    Call(Box<Self>, Vec<Self>),
    Method(Box<Self>, Text, Vec<Self>),
    Function(Arc<Body>),
    /// One value, whatever it returns.
    One(Box<Self>),
    /// With keys, and without.
    Table(Vec<(Option<Self>, Self)>),
    Binary(Op, Box<(Self, Self)>),
    And(Box<(Self, Self)>),
    Or(Box<(Self, Self)>),
    Not(Box<Self>),
    Minus(Box<Self>),
    Length(Box<Self>),
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Pow,
    Concat,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}
