//! Clients that order in shared turns, and others that change the stock under the same lock.

use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use edgelock::{Command, Error, GroupCommit};
use send_wrapper::SendWrapper;

use super::super::desk::{SmallClient, SmallLock};
use super::super::plan::Plan;
use super::{Act, Client, WAIT, begun, rehearse_section};
use crate::group::books::Books;
use crate::group::sale::{Order, RESTOCKED, STOCK, Sale};

/// Its turns may take one request.
type Shop = GroupCommit<Sale<false>>;

impl Client {
    pub(super) fn is_in_sale(&self) -> bool {
        let acts = self.stage.plan.acts_of(self.number);
        acts.iter().any(|act| matches!(act, Act::Order | Act::Orders | Act::Take))
    }

    pub(super) async fn trade(&self) {
        let (shop, lock) = (Shop::new(Sale), self.lock().ttl(self.ttl()));
        for (at, act) in self.stage.plan.acts_of(self.number).iter().enumerate() {
            self.stage.tell(|| format!("{} begins: {act:?}", self.seat().name));
            let told = match act {
                Act::Order => self.order(&shop, &lock, at).await,
                Act::Orders => {
                    let orders = [at, at + 5].into_iter();
                    all(orders.map(|at| self.order(&shop, &lock, at))).await
                }
                Act::Take => change_stock(&lock, -1).await,
                _ => change_stock(&lock, 1).await,
            };
            self.stage.tell(|| format!("{} is told of {act:?}: {told:?}", self.seat().name));
            if told.is_err_and(|error| error.is_outcome_unknown()) {
                self.seat().may_have_it.set(true);
            }
            self.point().await;
        }
    }

    async fn order(&self, shop: &Shop, lock: &SmallLock, at: usize) -> Result<(), Error> {
        let number = 10 * self.number + at;
        let books = self.stage.sold.as_ref().expect("a world of turns");
        let told = order(shop, lock, self.number, number, books).await;
        books.answer(number, Some(told.clone()));
        told.map(drop)
    }
}

async fn order(
    shop: &Shop,
    lock: &SmallLock,
    process: usize,
    number: usize,
    books: &Rc<Books>,
) -> Result<bool, Error> {
    let books = SendWrapper::new(books.clone());
    let order = Order { process, number, remembers: true, reads: None, books };
    shop.submit(&lock.clone().wait_timeout(WAIT), order).await
}

/// All of them at the same time; the error of one.
async fn all(
    orders: impl Iterator<Item = impl Future<Output = Result<(), Error>>>,
) -> Result<(), Error> {
    let (mut orders, mut told): (Vec<_>, _) = (orders.map(Box::pin).collect(), Ok(()));
    poll_fn(|context| {
        orders.retain_mut(|order| match order.as_mut().poll(context) {
            Poll::Ready(one) => {
                told = one.and_then(|()| told.clone());
                false
            }
            Poll::Pending => true,
        });
        if orders.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    told
}

/// Nobody takes what is not there.
async fn change_stock(lock: &SmallLock, by: i64) -> Result<(), Error> {
    let read = Command::new("GET").key(STOCK);
    let (Some(lease), found) = lock.try_acquire_and_read(&[read]).await? else {
        return Ok(());
    };
    let stock = found[0].as_i64().expect("a stock") + by;
    if stock < 0 {
        return lease.release().await;
    }
    let stock = Command::new("SET").key(STOCK).arg(stock);
    let note = Command::new("APPEND").key(RESTOCKED).arg(if by > 0 { "+" } else { "-" });
    lease.commit(&[stock, note]).await.map(drop)
}

/// Runs all scripts once that such clients may need.
pub(super) async fn rehearse(client: &SmallClient, plan: &Plan, number: usize) {
    rehearse_section(client, plan, number).await;
    let (shop, books) = (Shop::new(Sale), Rc::default());
    let lock = plan.name_for(number).lock(client, "rehearsal");
    begun(order(&shop, &lock, number, 0, &books)).await;
    drop(order(&shop, &lock, number, 1, &books).await);
}
