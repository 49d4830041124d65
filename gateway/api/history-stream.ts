import type { HistoryPage, HistoryPageRequest } from '../store/history-page.ts'

type ReadPage = (request: HistoryPageRequest) => Promise<HistoryPage>

/** Rows a page: some 150 KB of text, a few milliseconds of a reader thread. */
const PAGE_ROWS = 1000

const encoder = new TextEncoder()

/**
 * History as one JSON array, read a page at a time as fast as the client takes it: memory stays the same however long
 * the range is, and reading ends when the client leaves. The first page is read before this resolves, so that a store
 * that cannot be read is still an error answer.
 */
export async function streamHistory(
  readPage: ReadPage,
  request: HistoryPageRequest,
): Promise<ReadableStream<Uint8Array>> {
  let rest = { ...request, limit: Math.min(PAGE_ROWS, request.limit) }
  let rowsLeft = request.limit
  let page: HistoryPage | null = await readPage(rest)
  let isFirst = true
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        page ??= await readPage(rest)
        const { json, rows, lastAtMs } = page
        const isLast = rows < rest.limit || rows === rowsLeft
        const head = isFirst ? '[' : rows > 0 ? ',' : ''
        isFirst = false
        controller.enqueue(Buffer.concat([encoder.encode(head), json, encoder.encode(isLast ? ']' : '')]))
        if (isLast) return controller.close()
        rowsLeft -= rows
        rest = {
          ...rest,
          limit: Math.min(PAGE_ROWS, rowsLeft),
          // times are unique within a stream, so the next page begins right beside the last record
          ...(rest.order === 'asc' ? { fromMs: lastAtMs + 1 } : { toMs: lastAtMs - 1 }),
        }
        page = null
      },
    },
    { highWaterMark: 1 },
  )
}
