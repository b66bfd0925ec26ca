//! A table in wasm. It needs no server.

use edgelock::testing::Table;

use crate::host::test;
use crate::ms;

#[test]
async fn a_test_over_a_table_needs_nothing_of_the_host() {
    let table = Table::new();
    let lock = table.client().lock("a").ttl(ms(10_000)).wait_timeout(ms(60_000));
    table.block_on(async {
        let died = lock.try_acquire().await.unwrap();
        let next = lock.acquire().await.unwrap();
        assert!(next.fence() > died.fence() && died.remaining().is_zero());
        next.release().await.unwrap();
    });
}
