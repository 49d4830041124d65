/** Splits the states of devices into pages of up to `maxBytes` of JSON; at least one page, which may be empty. */
export function* statePages(
  devices: Iterable<Record<string, unknown>>,
  maxBytes: number,
): Generator<Record<string, unknown>[]> {
  let page: Record<string, unknown>[] = []
  let bytes = 0
  for (const device of devices) {
    const size = Buffer.byteLength(JSON.stringify(device)) + 1
    if (page.length > 0 && bytes + size > maxBytes) {
      yield page
      page = []
      bytes = 0
    }
    page.push(device)
    bytes += size
  }
  yield page
}
