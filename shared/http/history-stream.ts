import type { HistoryPage, HistoryRequest } from '#shared/history/page.ts'
import { type HistoryFrame, recordSeparator } from '#shared/history/text.ts'

/** Rows a page: some 35 KB of text, and less than a millisecond during which other requests wait. */
const PAGE_ROWS = 200

const encoder = new TextEncoder()

/**
 * History as one text, read a page at a time as fast as the client takes it: memory stays the same however long
 * the range is, and reading ends when the client leaves. The first page is read before this resolves, so that a store
 * that cannot be read is still an error answer.
 */
export async function streamHistory<Request extends Omit<HistoryRequest, 'previousMs'>>(
  readPage: (request: Request & { previousMs: number | null }) => Promise<HistoryPage>,
  request: Request,
  { head, foot }: HistoryFrame,
  pageRows = PAGE_ROWS,
): Promise<ReadableStream<Uint8Array>> {
  const separator = recordSeparator(request.format)
  let rest = { ...request, limit: Math.min(pageRows, request.limit), previousMs: null as number | null }
  let rowsLeft = request.limit
  let page: HistoryPage | null = await readPage(rest)
  let isFirst = true
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        page ??= await readPage(rest)
        const { text, rows, lastAtMs } = page
        const isLast = rows < rest.limit || rows === rowsLeft
        const before = isFirst ? head : rows > 0 ? separator : ''
        isFirst = false
        // pages go on as they are: copies of them would be most of the garbage of a long download
        if (before !== '') controller.enqueue(encoder.encode(before))
        if (rows > 0) controller.enqueue(text)
        if (isLast && foot !== '') controller.enqueue(encoder.encode(foot))
        if (isLast) return controller.close()
        rowsLeft -= rows
        rest = {
          ...rest,
          limit: Math.min(pageRows, rowsLeft),
          previousMs: lastAtMs,
          // times are unique within a stream, so the next page begins right beside the last record
          ...(rest.order === 'asc' ? { fromMs: lastAtMs + 1 } : { toMs: lastAtMs - 1 }),
        }
        page = null
      },
    },
    { highWaterMark: 1 },
  )
}
