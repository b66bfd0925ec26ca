// Stands for your own code: what must not be done twice at once for the same order.
export const shop = {
  async ship(order: string, signal: AbortSignal): Promise<{ readonly shipped: string }> {
    // Stops if the lock is lost, or the client hangs up.
    signal.throwIfAborted();
    return { shipped: order };
  },
};
