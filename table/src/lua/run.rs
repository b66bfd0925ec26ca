//! Runs a script's statements.

mod evaluate;
mod loops;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::library;
use super::syntax::{Block, Body, Expr, Place, Statement};
use super::value::{Fields, Outcome, Text, Value};
use crate::reply::Reply;

/// A deeper one could exhaust the stack of the host.
const DEEPEST: u32 = 50;

/// As many statements and turns of a loop a script may have. One that goes on would never end.
const LONGEST: u32 = 5_000_000;

/// Runs the commands of a script.
pub(crate) trait Host {
    fn command(&mut self, words: &[Text]) -> Reply;
}

/// A script under way.
pub(crate) struct Run<'h> {
    pub(crate) host: &'h mut dyn Host,
    globals: Rc<RefCell<Fields>>,
    depth: u32,
    left: u32,
    line: u32,
}

type Variable = Rc<RefCell<Value>>;

pub(crate) struct Closure {
    body: Arc<Body>,
    captured: Vec<Variable>,
}

/// A call under way.
struct Frame {
    locals: Vec<Variable>,
    closure: Rc<Closure>,
    more: Vec<Value>,
}

enum Flow {
    On,
    Break,
    Return(Vec<Value>),
}

type Done<T> = Result<T, Value>;

/// Runs a script from its beginning.
///
/// # Errors
/// What it raised, and at which line.
pub(crate) fn run(
    body: &Arc<Body>,
    host: &mut dyn Host,
    keys: &[&[u8]],
    args: &[&[u8]],
) -> Result<Value, (Value, u32)> {
    let list =
        |words: &[&[u8]]| Value::table(Fields::of_list(words.iter().map(Value::text).collect()));
    let mut globals = library::globals();
    globals.put("KEYS", list(keys));
    globals.put("ARGV", list(args));
    let mut run =
        Run { host, globals: Rc::new(RefCell::new(globals)), depth: 0, left: LONGEST, line: 1 };
    let closure = Closure { body: body.clone(), captured: Vec::new() };
    let values = run.enter(&Rc::new(closure), Vec::new());
    let values = values.map_err(|raised| (raised, run.line))?;
    Ok(values.into_iter().next().unwrap_or(Value::Nil))
}

impl Run<'_> {
    /// An error with the line at which it was raised.
    pub(crate) fn error(&self, text: impl AsRef<str>) -> Value {
        Value::text(format!("user_script:{}: {}", self.line, text.as_ref()))
    }

    /// Counts a statement, or a step of a library's own.
    pub(crate) fn tick(&mut self) -> Done<()> {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => return Err(self.error("the script does not end")),
        }
        Ok(())
    }

    /// As [`Run::call`]; goes on though it raises.
    pub(crate) fn try_call(&mut self, function: &Value, args: Vec<Value>) -> Outcome {
        let (depth, line) = (self.depth, self.line);
        let outcome = self.call(function, args);
        (self.depth, self.line) = (depth, line);
        outcome
    }

    /// # Errors
    /// What the function raised; that this is none.
    pub(crate) fn call(&mut self, function: &Value, args: Vec<Value>) -> Outcome {
        match function {
            Value::Function(closure) => self.enter(closure, args),
            Value::Builtin(builtin) => builtin(self, &args),
            Value::Matches(matches) => library::next_match(self, matches),
            other => Err(self.error(format!("attempt to call a {} value", other.kind()))),
        }
    }

    fn enter(&mut self, closure: &Rc<Closure>, mut args: Vec<Value>) -> Outcome {
        if self.depth == DEEPEST {
            return Err(self.error("stack overflow"));
        }
        let body = &closure.body;
        let mut more = match args.len() > body.parameters {
            true => args.split_off(body.parameters),
            false => Vec::new(),
        };
        if !body.takes_more {
            more.clear();
        }
        args.resize(body.parameters, Value::Nil);
        let mut frame = Frame {
            locals: args.into_iter().map(variable).collect(),
            closure: closure.clone(),
            more,
        };
        let line = self.line;
        self.depth += 1;
        let flow = self.block(&mut frame, &body.block);
        self.depth -= 1;
        if flow.is_ok() {
            self.line = line;
        }
        match flow? {
            Flow::Return(values) => Ok(values),
            _ => Ok(Vec::new()),
        }
    }

    fn block(&mut self, frame: &mut Frame, block: &Block) -> Done<Flow> {
        let height = frame.locals.len();
        let flow = self.statements(frame, block);
        frame.locals.truncate(height);
        flow
    }

    fn statements(&mut self, frame: &mut Frame, block: &Block) -> Done<Flow> {
        for line in block {
            self.line = line.number;
            self.tick()?;
            match self.statement(frame, &line.statement)? {
                Flow::On => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::On)
    }

    fn statement(&mut self, frame: &mut Frame, statement: &Statement) -> Done<Flow> {
        match statement {
            Statement::Local(count, values) => {
                let mut values = self.values(frame, values)?;
                values.resize(*count, Value::Nil);
                frame.locals.extend(values.into_iter().map(variable));
            }
            Statement::LocalFunction(body) => {
                // It may call itself.
                frame.locals.push(variable(Value::Nil));
                let function = closure(frame, body);
                if let Some(local) = frame.locals.last() {
                    local.replace(function);
                }
            }
            Statement::Assign(targets, values) => self.assign(frame, targets, values)?,
            Statement::Call(call) => drop(self.many(frame, call)?),
            Statement::Do(block) => return self.block(frame, block),
            Statement::While(condition, block) => {
                while self.value(frame, condition)?.is_true() {
                    self.tick()?;
                    match self.block(frame, block)? {
                        Flow::On => {}
                        Flow::Break => break,
                        flow @ Flow::Return(_) => return Ok(flow),
                    }
                }
            }
            Statement::Repeat(block, condition) => return self.repeat(frame, block, condition),
            Statement::If(branches, otherwise) => {
                for (condition, block) in branches {
                    if self.value(frame, condition)?.is_true() {
                        return self.block(frame, block);
                    }
                }
                return self.block(frame, otherwise);
            }
            Statement::For(bounds, block) => return self.count(frame, bounds, block),
            Statement::ForIn(count, exprs, block) => {
                return self.iterate(frame, *count, exprs, block);
            }
            Statement::Return(values) => return self.values(frame, values).map(Flow::Return),
            Statement::Break => return Ok(Flow::Break),
        }
        Ok(Flow::On)
    }

    fn assign(&mut self, frame: &mut Frame, targets: &[Expr], values: &[Expr]) -> Done<()> {
        let mut places = Vec::new();
        for target in targets {
            places.push(match target {
                Expr::Index(both) => {
                    let table = self.value(frame, &both.0)?;
                    Some((table, self.value(frame, &both.1)?))
                }
                _ => None,
            });
        }
        let mut values = self.values(frame, values)?;
        values.resize(targets.len(), Value::Nil);
        for ((target, place), value) in targets.iter().zip(places).zip(values) {
            match (target, place) {
                (Expr::Variable(place), _) => *frame.variable(*place).borrow_mut() = value,
                (_, Some((table, key))) => self.set(&table, &key, value)?,
                _ => return Err(self.error("Attempt to modify a readonly table")),
            }
        }
        Ok(())
    }
}

impl Frame {
    fn variable(&self, place: Place) -> &Variable {
        match place {
            Place::Local(at) => &self.locals[at],
            Place::Captured(at) => &self.closure.captured[at],
        }
    }
}

fn variable(value: Value) -> Variable {
    Rc::new(RefCell::new(value))
}

fn closure(frame: &Frame, body: &Arc<Body>) -> Value {
    let captured = body.captures.iter().map(|place| frame.variable(*place).clone());
    Value::Function(Rc::new(Closure { body: body.clone(), captured: captured.collect() }))
}
