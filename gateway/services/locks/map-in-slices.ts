/** Items processed in one tick of the event loop: about a millisecond. */
const SLICE = 50

/** Maps many items, a few per tick of the event loop, so that devices get their acknowledgements in between. */
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
