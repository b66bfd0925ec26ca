//! Tokens as a script, with the scopes of its names.

mod expressions;

use std::sync::Arc;

use super::lexer::{Token, tokens};
use super::scope::Scope;
use super::syntax::{Block, Body, Expr, Line, Statement};
use super::value::Text;

/// A deeper text could exhaust the stack of the host.
const DEEPEST: u32 = 60;

pub(crate) struct Parser {
    tokens: Vec<(Token, u32)>,
    at: usize,
    scope: Scope,
    depth: u32,
}

type Parsed<T> = Result<T, String>;

/// # Errors
/// Why this is no script, as Redis says it.
pub(crate) fn parse(source: &[u8]) -> Result<Arc<Body>, String> {
    let said = |(text, line)| format!("user_script:{line}: {text}");
    let mut parser =
        Parser { tokens: tokens(source).map_err(said)?, at: 0, scope: Scope::default(), depth: 0 };
    let parsed = parser.body(Vec::new(), true).and_then(|body| match parser.peek() {
        Token::End => Ok(body),
        _ => Err(parser.unexpected()),
    });
    parsed.map_err(|text| said((text, parser.line())))
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn line(&self) -> u32 {
        self.tokens[self.at].1
    }

    /// The last token is the end, and stays.
    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(next) if *next == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        if is {
            self.next();
        }
        is
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        match self.take(sign) {
            true => Ok(()),
            false => Err(format!("'{sign}' expected, {}", self.unexpected())),
        }
    }

    fn unexpected(&self) -> String {
        let near = match self.peek() {
            Token::Name(text) | Token::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Token::Number(number) => number.to_string(),
            Token::Sign(sign) => (*sign).to_owned(),
            Token::End => "<eof>".to_owned(),
        };
        format!("unexpected symbol near '{near}'")
    }

    fn name(&mut self) -> Parsed<Text> {
        match self.next() {
            Token::Name(name) => Ok(name),
            _ => {
                self.at -= 1;
                Err(format!("<name> expected, {}", self.unexpected()))
            }
        }
    }

    fn names(&mut self) -> Parsed<Vec<Text>> {
        let mut names = vec![self.name()?];
        while self.take(",") {
            names.push(self.name()?);
        }
        Ok(names)
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST {
            return Err("the script is nested too deeply".into());
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn body(&mut self, parameters: Vec<Text>, takes_more: bool) -> Parsed<Arc<Body>> {
        let count = parameters.len();
        self.scope.enter(parameters, takes_more);
        let block = self.statements();
        let captures = self.scope.leave();
        Ok(Arc::new(Body { parameters: count, takes_more, captures, block: block? }))
    }

    /// A block whose names end with it.
    fn block(&mut self, names: Vec<Text>) -> Parsed<Block> {
        let height = self.scope.height();
        self.scope.declare(names);
        let block = self.statements();
        self.scope.fall_to(height);
        block
    }

    fn statements(&mut self) -> Parsed<Block> {
        let mut block = Vec::new();
        loop {
            while self.take(";") {}
            let ends = ["end", "else", "elseif", "until"];
            if *self.peek() == Token::End || ends.iter().any(|end| self.is(end)) {
                return Ok(block);
            }
            let number = self.line();
            let statement = self.deeper(Self::statement)?;
            let is_last = matches!(statement, Statement::Return(_) | Statement::Break);
            block.push(Line { number, statement });
            if is_last {
                while self.take(";") {}
                return Ok(block);
            }
        }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let Token::Sign(sign) = *self.peek() else {
            return self.plain();
        };
        match sign {
            "(" => return self.plain(),
            "local" | "if" | "while" | "do" | "for" | "repeat" | "function" | "return"
            | "break" => {}
            _ => return Err(self.unexpected()),
        }
        self.next();
        match sign {
            "local" => self.local(),
            "if" => self.branches(),
            "while" => {
                let condition = self.expr()?;
                self.expect("do")?;
                let block = self.block(Vec::new())?;
                self.expect("end")?;
                Ok(Statement::While(condition, block))
            }
            "do" => {
                let block = self.block(Vec::new())?;
                self.expect("end")?;
                Ok(Statement::Do(block))
            }
            "for" => self.loops(),
            "repeat" => {
                let height = self.scope.height();
                let block = self.statements()?;
                self.expect("until")?;
                let condition = self.expr()?;
                self.scope.fall_to(height);
                Ok(Statement::Repeat(block, condition))
            }
            "function" => {
                let name = self.name()?;
                let mut target = self.scope.variable(&name);
                while self.take(".") {
                    target = Expr::Index(Box::new((target, Expr::Text(self.name()?))));
                }
                let function = self.function()?;
                Ok(Statement::Assign(vec![target], vec![Expr::Function(function)]))
            }
            "return" => Ok(Statement::Return(match self.is_over() {
                true => Vec::new(),
                false => self.exprs()?,
            })),
            _ => Ok(Statement::Break),
        }
    }

    /// Whether nothing follows a `return`.
    fn is_over(&self) -> bool {
        let ends = ["end", "else", "elseif", "until", ";"];
        *self.peek() == Token::End || ends.iter().any(|end| self.is(end))
    }

    fn local(&mut self) -> Parsed<Statement> {
        if self.take("function") {
            let name = self.name()?;
            self.scope.declare(vec![name]);
            return Ok(Statement::LocalFunction(self.function()?));
        }
        let names = self.names()?;
        let values = match self.take("=") {
            true => self.exprs()?,
            false => Vec::new(),
        };
        let count = names.len();
        // Only now: the values see the names as they were.
        self.scope.declare(names);
        Ok(Statement::Local(count, values))
    }

    fn branches(&mut self) -> Parsed<Statement> {
        let mut branches = Vec::new();
        loop {
            let condition = self.expr()?;
            self.expect("then")?;
            branches.push((condition, self.block(Vec::new())?));
            if self.take("elseif") {
                continue;
            }
            let otherwise = match self.take("else") {
                true => self.block(Vec::new())?,
                false => Vec::new(),
            };
            self.expect("end")?;
            return Ok(Statement::If(branches, otherwise));
        }
    }

    fn loops(&mut self) -> Parsed<Statement> {
        let names = self.names()?;
        let counts = names.len() == 1 && self.take("=");
        if !counts {
            self.expect("in")?;
        }
        let mut exprs = self.exprs()?;
        self.expect("do")?;
        let count = names.len();
        let block = self.block(names)?;
        self.expect("end")?;
        if !counts {
            return Ok(Statement::ForIn(count, exprs, block));
        }
        if exprs.len() == 2 {
            exprs.push(Expr::Number(1.0));
        }
        let bounds = exprs.try_into().map_err(|_| "a loop counts from, to, and by")?;
        Ok(Statement::For(bounds, block))
    }

    /// An assignment or a call.
    fn plain(&mut self) -> Parsed<Statement> {
        let first = self.suffixed()?;
        if matches!(first, Expr::Call(..) | Expr::Method(..)) && !self.is("=") && !self.is(",") {
            return Ok(Statement::Call(first));
        }
        let mut targets = vec![first];
        while self.take(",") {
            targets.push(self.suffixed()?);
        }
        let can_be_set =
            |target: &Expr| matches!(target, Expr::Variable(_) | Expr::Global(_) | Expr::Index(_));
        if !targets.iter().all(can_be_set) {
            return Err(self.unexpected());
        }
        self.expect("=")?;
        Ok(Statement::Assign(targets, self.exprs()?))
    }
}
