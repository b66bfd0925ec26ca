//! The Worker without its host: a request in, a response out.

use edgelock::{Client, GroupCommit, Runtime, Transport};

use crate::config::{Config, Credential};
use crate::http::{Request, Response};
use crate::orders::Orders;
use crate::problem::Problem;
use crate::route::Route;
use crate::sold_out::SoldOut;

/// Sells, draws lots, and hands out locks.
pub struct Shop<T, R> {
    pub(crate) client: Client<T, R>,
    admin: Credential,
    locks: Credential,
    pub(crate) isolate: Isolate,
}

/// What all requests to one isolate share.
#[derive(Clone)]
pub struct Isolate {
    pub(crate) orders: GroupCommit<Orders>,
    pub(crate) sold_out: SoldOut,
}

impl Default for Isolate {
    fn default() -> Self {
        Self {
            orders: GroupCommit::new(Orders).peek(Orders::peek),
            sold_out: SoldOut::default(),
        }
    }
}

impl<T: Transport, R: Runtime> Shop<T, R> {
    /// A shop whose records are behind the configured bridge.
    pub fn new(config: Config, isolate: Isolate, transport: T, runtime: R) -> Self {
        Self {
            client: Client::new(config.bridge, transport, runtime),
            admin: config.admin,
            locks: config.locks,
            isolate,
        }
    }

    /// Does what `request` asks for.
    ///
    /// # Errors
    /// The [`Problem`] to answer with.
    pub async fn answer(&self, request: &Request) -> Result<Response, Problem> {
        let route = Route::of(&request.method, &request.path)?;
        if let Some(credential) = self.credential_for(&route) {
            credential.admit(request.authorization.as_deref())?;
        }
        match route {
            Route::OpenSale(sku) => self.open_sale(&sku, &request.body).await,
            Route::ShowSale(sku) => self.show_sale(&sku).await,
            Route::PlaceOrder(sku) => self.place_order(&sku, &request.body).await,
            Route::Enter(day) => self.enter(day, &request.body).await,
            Route::ShowLottery(day) => self.show_lottery(day).await,
            Route::AcquireLock(name) => self.acquire_lock(&name, &request.body).await,
            Route::RenewLock(name) => self.renew_lock(&name, &request.body).await,
            Route::ReleaseLock(name) => self.release_lock(&name, &request.body).await,
            Route::InspectLock(name) => self.inspect_lock(&name).await,
        }
    }

    /// What a caller of `route` must know; nothing to look, to buy and to take part.
    const fn credential_for(&self, route: &Route) -> Option<&Credential> {
        match route {
            Route::ShowSale(_) | Route::PlaceOrder(_) | Route::Enter(_) | Route::ShowLottery(_) => {
                None
            }
            Route::OpenSale(_) => Some(&self.admin),
            Route::AcquireLock(_)
            | Route::RenewLock(_)
            | Route::ReleaseLock(_)
            | Route::InspectLock(_) => Some(&self.locks),
        }
    }
}
