//! Which types must be `Send` and `Sync` on hosts with threads.

/// `Send`, where there are threads. In wasm every type is it: JavaScript's futures are not `Send`,
/// and need not be.
#[cfg(not(target_family = "wasm"))]
pub trait SendOutsideWasm: Send {}
#[cfg(not(target_family = "wasm"))]
impl<T: Send + ?Sized> SendOutsideWasm for T {}

/// Every type, since there are no threads.
#[cfg(target_family = "wasm")]
pub trait SendOutsideWasm {}
#[cfg(target_family = "wasm")]
impl<T: ?Sized> SendOutsideWasm for T {}

/// `Sync`, where there are threads. In wasm every type is it.
#[cfg(not(target_family = "wasm"))]
pub trait SyncOutsideWasm: Sync {}
#[cfg(not(target_family = "wasm"))]
impl<T: Sync + ?Sized> SyncOutsideWasm for T {}

/// Every type, since there are no threads.
#[cfg(target_family = "wasm")]
pub trait SyncOutsideWasm {}
#[cfg(target_family = "wasm")]
impl<T: ?Sized> SyncOutsideWasm for T {}
