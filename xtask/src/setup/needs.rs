//! What a command needs of the machine.

/// How much of what can be installed a command needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// To build the Worker. wrangler asks for that while it runs from `node_modules`, so nothing
    /// there is changed.
    Worker,
    /// To build the Worker, and to run it over a Redis and a bridge.
    Stack,
    /// To build the Worker and the npm package as they are published.
    Build,
    /// To run every check, test and benchmark.
    Everything,
}
