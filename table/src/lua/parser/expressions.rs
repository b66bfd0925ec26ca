//! Expressions, by the precedence of their operators.

use std::sync::Arc;

use super::super::lexer::Token;
use super::super::syntax::{Body, Expr, Op};
use super::{Parsed, Parser};

/// How tightly an operator holds what is on its left, and on its right.
fn binding(sign: &str) -> Option<(u8, u8)> {
    Some(match sign {
        "or" => (1, 1),
        "and" => (2, 2),
        "<" | ">" | "<=" | ">=" | "~=" | "==" => (3, 3),
        ".." => (5, 4),
        "+" | "-" => (6, 6),
        "*" | "/" | "%" => (7, 7),
        "^" => (10, 9),
        _ => return None,
    })
}

const UNARY: u8 = 8;

fn binary(sign: &str, both: Box<(Expr, Expr)>) -> Expr {
    let op = match sign {
        "and" => return Expr::And(both),
        "or" => return Expr::Or(both),
        "+" => Op::Add,
        "-" => Op::Sub,
        "*" => Op::Mul,
        "/" => Op::Div,
        "%" => Op::Mod,
        "^" => Op::Pow,
        ".." => Op::Concat,
        "==" => Op::Equal,
        "~=" => Op::Unequal,
        "<" => Op::Less,
        "<=" => Op::LessEqual,
        ">" => Op::Greater,
        _ => Op::GreaterEqual,
    };
    Expr::Binary(op, both)
}

impl Parser {
    pub(super) fn exprs(&mut self) -> Parsed<Vec<Expr>> {
        let mut exprs = vec![self.expr()?];
        while self.take(",") {
            exprs.push(self.expr()?);
        }
        Ok(exprs)
    }

    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.expr_above(0)
    }

    fn expr_above(&mut self, limit: u8) -> Parsed<Expr> {
        self.deeper(|parser| {
            let mut left = parser.unary()?;
            while let Token::Sign(sign) = *parser.peek() {
                let Some((_, behind)) = binding(sign).filter(|(holds, _)| *holds > limit) else {
                    break;
                };
                parser.next();
                let right = parser.expr_above(behind)?;
                left = binary(sign, Box::new((left, right)));
            }
            Ok(left)
        })
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let make = match self.peek() {
            Token::Sign("not") => Expr::Not,
            Token::Sign("-") => Expr::Minus,
            Token::Sign("#") => Expr::Length,
            _ => return self.simple(),
        };
        self.next();
        Ok(make(Box::new(self.expr_above(UNARY)?)))
    }

    fn simple(&mut self) -> Parsed<Expr> {
        let expr = match self.peek() {
            Token::Number(number) => Expr::Number(*number),
            Token::Text(text) => Expr::Text(text.clone()),
            Token::Sign("nil") => Expr::Nil,
            Token::Sign("true") => Expr::Bool(true),
            Token::Sign("false") => Expr::Bool(false),
            Token::Sign("...") if self.scope.takes_more() => Expr::More,
            Token::Sign("...") => return Err("cannot use '...' outside a vararg function".into()),
            Token::Sign("{") => return self.table(),
            Token::Sign("function") => {
                self.next();
                return self.function().map(Expr::Function);
            }
            _ => return self.suffixed(),
        };
        self.next();
        Ok(expr)
    }

    /// A name or what is in parentheses, with the indexes and calls behind it.
    pub(super) fn suffixed(&mut self) -> Parsed<Expr> {
        let mut expr = match self.take("(") {
            true => {
                let inner = self.expr()?;
                self.expect(")")?;
                Expr::One(Box::new(inner))
            }
            false => {
                let name = self.name()?;
                self.scope.variable(&name)
            }
        };
        loop {
            expr = match self.peek() {
                Token::Sign(".") => {
                    self.next();
                    Expr::Index(Box::new((expr, Expr::Text(self.name()?))))
                }
                Token::Sign("[") => {
                    self.next();
                    let key = self.expr()?;
                    self.expect("]")?;
                    Expr::Index(Box::new((expr, key)))
                }
                Token::Sign(":") => {
                    self.next();
                    let name = self.name()?;
                    Expr::Method(Box::new(expr), name, self.arguments()?)
                }
                Token::Sign("(" | "{") | Token::Text(_) => {
                    Expr::Call(Box::new(expr), self.arguments()?)
                }
                _ => return Ok(expr),
            };
        }
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        if let Token::Text(text) = self.peek() {
            let text = Expr::Text(text.clone());
            self.next();
            return Ok(vec![text]);
        }
        if self.is("{") {
            return Ok(vec![self.table()?]);
        }
        self.expect("(")?;
        if self.take(")") {
            return Ok(Vec::new());
        }
        let exprs = self.exprs()?;
        self.expect(")")?;
        Ok(exprs)
    }

    fn table(&mut self) -> Parsed<Expr> {
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.is("}") {
            let names = matches!(self.peek(), Token::Name(_));
            let key = if self.take("[") {
                let key = self.expr()?;
                self.expect("]")?;
                self.expect("=")?;
                Some(key)
            } else if names && self.tokens[self.at + 1].0 == Token::Sign("=") {
                let name = self.name()?;
                self.expect("=")?;
                Some(Expr::Text(name))
            } else {
                None
            };
            fields.push((key, self.expr()?));
            if !self.take(",") && !self.take(";") {
                break;
            }
        }
        self.expect("}")?;
        Ok(Expr::Table(fields))
    }

    /// What stands behind the word `function`.
    pub(super) fn function(&mut self) -> Parsed<Arc<Body>> {
        self.expect("(")?;
        let (mut names, mut takes_more) = (Vec::new(), false);
        while !self.is(")") {
            takes_more = self.take("...");
            if takes_more {
                break;
            }
            names.push(self.name()?);
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        let body = self.deeper(|parser| parser.body(names, takes_more))?;
        self.expect("end")?;
        Ok(body)
    }
}
