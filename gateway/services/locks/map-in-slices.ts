/** Items that are worked out in a turn of the event loop: a millisecond of it. */
const SLICE = 50

/** Maps many items, a few a turn of the event loop: devices wait for their acknowledgements meanwhile. */
export async function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = []
  for (const [i, item] of items.entries()) {
    if (i > 0 && i % SLICE === 0) await new Promise(setImmediate)
    results.push(map(item))
  }
  return results
}
