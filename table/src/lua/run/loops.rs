//! Loops other than `while`.

use super::{Done, Flow, Frame, Run, variable};
use crate::lua::syntax::{Block, Expr};
use crate::lua::value::Value;

impl Run<'_> {
    /// Its condition sees the names of the block.
    pub(super) fn repeat(
        &mut self,
        frame: &mut Frame,
        block: &Block,
        condition: &Expr,
    ) -> Done<Flow> {
        let height = frame.locals.len();
        loop {
            self.tick()?;
            let flow = self.statements(frame, block)?;
            let is_over = match flow {
                Flow::On => self.value(frame, condition)?.is_true(),
                _ => true,
            };
            frame.locals.truncate(height);
            match flow {
                Flow::Return(_) => return Ok(flow),
                _ if is_over => return Ok(Flow::On),
                _ => {}
            }
        }
    }

    pub(super) fn count(
        &mut self,
        frame: &mut Frame,
        bounds: &[Expr; 3],
        block: &Block,
    ) -> Done<Flow> {
        let mut numbers = [0.0; 3];
        for (number, bound) in numbers.iter_mut().zip(bounds) {
            let value = self.value(frame, bound)?.number();
            *number = value.ok_or_else(|| self.error("'for' counts by numbers"))?;
        }
        let [mut at, last, step] = numbers;
        while if step > 0.0 { at <= last } else { at >= last } {
            self.tick()?;
            match self.turn(frame, vec![Value::Number(at)], block)? {
                Flow::On => at += step,
                Flow::Break => break,
                flow @ Flow::Return(_) => return Ok(flow),
            }
        }
        Ok(Flow::On)
    }

    pub(super) fn iterate(
        &mut self,
        frame: &mut Frame,
        count: usize,
        exprs: &[Expr],
        block: &Block,
    ) -> Done<Flow> {
        let mut values = self.values(frame, exprs)?.into_iter();
        let mut next = || values.next().unwrap_or(Value::Nil);
        let (function, state, mut key) = (next(), next(), next());
        loop {
            self.tick()?;
            let mut values = self.call(&function, vec![state.clone(), key])?;
            values.resize(count, Value::Nil);
            key = values[0].clone();
            if matches!(key, Value::Nil) {
                return Ok(Flow::On);
            }
            match self.turn(frame, values, block)? {
                Flow::On => {}
                Flow::Break => return Ok(Flow::On),
                flow @ Flow::Return(_) => return Ok(flow),
            }
        }
    }

    /// One turn of a loop, whose variables are its own.
    fn turn(&mut self, frame: &mut Frame, values: Vec<Value>, block: &Block) -> Done<Flow> {
        let height = frame.locals.len();
        frame.locals.extend(values.into_iter().map(variable));
        let flow = self.statements(frame, block);
        frame.locals.truncate(height);
        flow
    }
}
