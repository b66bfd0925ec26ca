//! The Worker without its host: a request in, a response out.

use std::sync::{Arc, OnceLock};

use edgelock::{Client, GroupCommit, Runtime, Transport};

use crate::config::{Config, Credential};
use crate::http::{Head, Response};
use crate::look::Looks;
use crate::orders::Orders;
use crate::problem::Problem;
use crate::route::Route;
use crate::sold_out::SoldOut;

/// Sells, runs lotteries, and serves locks.
pub struct Shop<T, R> {
    pub(crate) client: Client<T, R>,
    admin: Credential,
    locks: Credential,
    pub(crate) replicas: Option<u32>,
    pub(crate) isolate: Isolate,
}

/// What a caller asks for, and is allowed to.
pub struct Admitted(Route);

impl Admitted {
    /// Whether the request's body is used.
    pub const fn has_body(&self) -> bool {
        self.0.has_body()
    }

    /// Whether the answer may be dropped midway, because that leaves nothing half done. An order
    /// that waits for its turn leaves the queue. One whose turn has begun is placed. A cart is then
    /// placed as a whole, or not at all.
    pub const fn ends_with_its_caller(&self) -> bool {
        matches!(self.0, Route::PlaceOrder(_) | Route::PlaceCart)
    }
}

/// What all requests to one isolate share.
#[derive(Clone)]
pub struct Isolate {
    pub(crate) orders: GroupCommit<Orders>,
    pub(crate) sold_out: SoldOut,
    pub(crate) looks: Looks,
    label: Arc<OnceLock<String>>,
}

/// How many orders of one sku may wait in one isolate. Others get a 503 at once: each one that
/// waits takes memory, and more of them are not served sooner.
const MOST_WAITING: usize = 4_096;

impl Default for Isolate {
    fn default() -> Self {
        Self {
            orders: GroupCommit::new(Orders)
                .peek(Orders::peek)
                .max_waiting(MOST_WAITING),
            sold_out: SoldOut::default(),
            looks: Looks::default(),
            label: Arc::default(),
        }
    }
}

/// How the label of each isolate begins.
pub(crate) const LABEL: &str = "isolate ";

impl Isolate {
    /// What it calls itself as the holder of a lock. It is drawn at random, and no secret. Without
    /// random bytes there is no token and so no lock either.
    pub(crate) fn label(&self, runtime: &impl Runtime) -> &str {
        self.label.get_or_init(|| {
            let mut bytes = [0; 2];
            let drawn = runtime.random(&mut bytes);
            drawn.map_or_else(
                |_| String::new(),
                |()| format!("{LABEL}{:04x}", u16::from_be_bytes(bytes)),
            )
        })
    }
}

impl<T: Transport, R: Runtime> Shop<T, R> {
    /// A shop whose records are behind the configured bridge.
    pub fn new(config: Config, isolate: Isolate, transport: T, runtime: R) -> Self {
        Self {
            client: Client::new(config.bridge, transport, runtime),
            admin: config.admin,
            locks: config.locks,
            replicas: config.replicas,
            isolate,
        }
    }

    /// What the head of a request asks for, if the caller is allowed to.
    ///
    /// # Errors
    /// The [`Problem`] to answer with. Nothing else of the request need be read.
    pub fn admit(&self, head: &Head) -> Result<Admitted, Problem> {
        let route = Route::of(&head.method, &head.path)?;
        if let Some(credential) = self.credential_for(&route) {
            credential.admit(head.authorization.as_deref())?;
        }
        Ok(Admitted(route))
    }

    /// Does what was asked for.
    ///
    /// # Errors
    /// The [`Problem`] to answer with.
    pub async fn answer(&self, admitted: Admitted, body: &[u8]) -> Result<Response, Problem> {
        match admitted.0 {
            Route::ShowPage => self.show_page(),
            Route::OpenSale(sku) => self.open_sale(&sku, body).await,
            Route::ShowSale(sku) => self.show_sale(&sku).await,
            Route::ShowLock(sku) => self.show_lock(&sku).await,
            Route::PlaceOrder(sku) => self.place_order(&sku, body).await,
            Route::PlaceCart => self.place_cart(body).await,
            Route::Enter(day) => self.enter(day, body).await,
            Route::ShowLottery(day) => self.show_lottery(day).await,
            Route::AcquireLock(name) => self.acquire_lock(&name, body).await,
            Route::RenewLock(name) => self.renew_lock(&name, body).await,
            Route::ReleaseLock(name) => self.release_lock(&name, body).await,
            Route::InspectLock(name) => self.inspect_lock(&name).await,
        }
    }

    /// The credential that `route` needs. Looking, buying and taking part need none.
    const fn credential_for(&self, route: &Route) -> Option<&Credential> {
        match route {
            Route::ShowPage
            | Route::ShowSale(_)
            | Route::ShowLock(_)
            | Route::PlaceOrder(_)
            | Route::PlaceCart
            | Route::Enter(_)
            | Route::ShowLottery(_) => None,
            Route::OpenSale(_) => Some(&self.admin),
            Route::AcquireLock(_)
            | Route::RenewLock(_)
            | Route::ReleaseLock(_)
            | Route::InspectLock(_) => Some(&self.locks),
        }
    }
}
