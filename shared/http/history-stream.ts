import type { Slots } from '#shared/budgets/slots.ts'
import { RateLimitedError } from '#shared/errors.ts'
import type { HistoryPage, HistoryRequest } from '#shared/history/page.ts'
import { type HistoryFrame, recordSeparator } from '#shared/history/text.ts'

/** Rows per page: about 35 KB of text, and less than a millisecond during which other requests wait. */
const PAGE_ROWS = 200
/** Time for which a client may read nothing of a page that is ready. */
const STALL_MS = 60_000
const RETRY_S = 10

const encoder = new TextEncoder()

/** Caller of a download, with its limits. */
export interface Download {
  readonly userId: string
  /** Concurrent downloads of the user; a response of one page does not count. */
  readonly slots: Slots
  /** True if the key is still valid and may read the records; checked before each page except the first. */
  readonly mayGoOn: () => boolean | Promise<boolean>
  readonly pageRows?: number
  readonly stallMs?: number
}

/**
 * Streams a history as text, page by page as fast as the client reads, with constant memory. Reading ends when the
 * client disconnects, stalls or loses access; the response is then aborted, so as not to appear complete. The first
 * page is read before this resolves, so that an unreadable store or `too_many_downloads` still causes an error
 * response.
 */
export async function streamHistory<Request extends Omit<HistoryRequest, 'previousMs'>>(
  readPage: (request: Request & { previousMs: number | null }) => Promise<HistoryPage>,
  request: Request,
  { head, foot }: HistoryFrame,
  { userId, slots, mayGoOn, pageRows = PAGE_ROWS, stallMs = STALL_MS }: Download,
): Promise<ReadableStream<Uint8Array>> {
  const separator = recordSeparator(request.format)
  let rest = { ...request, limit: Math.min(pageRows, request.limit), previousMs: null as number | null }
  let rowsLeft = request.limit
  const isLastPage = ({ rows }: HistoryPage) => rows < rest.limit || rows === rowsLeft
  let page: HistoryPage | null = await readPage(rest)
  // a response for a live device ends at the newest record of this moment; the device clock may be ahead of ours
  const endsAtMs =
    !isLastPage(page) && rest.order === 'asc'
      ? (await readPage({ ...request, order: 'desc', limit: 1, previousMs: null })).lastAtMs
      : rest.toMs
  const hasSlot = !isLastPage(page)
  if (hasSlot && !slots.take(userId)) {
    const message = 'too many downloads in progress; wait until one ends'
    throw new RateLimitedError(message, RETRY_S, 'too_many_downloads')
  }
  let isFirst = true
  let stalled: NodeJS.Timeout | undefined
  let isOver = false
  const end = () => {
    clearTimeout(stalled)
    if (hasSlot && !isOver) slots.release(userId)
    isOver = true
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(stalled)
        try {
          if (page === null) {
            if (!(await mayGoOn())) throw new Error('the caller has lost access to these records')
            page = await readPage(rest)
          }
        } catch (error) {
          end()
          throw error
        }
        const { text, rows, lastAtMs } = page
        const isLast = isLastPage(page)
        const before = isFirst ? head : rows > 0 ? separator : ''
        isFirst = false
        // pages are passed on without a copy, which would be most of the garbage of a long download
        if (before !== '') controller.enqueue(encoder.encode(before))
        if (rows > 0) controller.enqueue(text)
        if (isLast && foot !== '') controller.enqueue(encoder.encode(foot))
        if (isLast) {
          end()
          controller.close()
          return
        }
        rowsLeft -= rows
        rest = {
          ...rest,
          limit: Math.min(pageRows, rowsLeft),
          previousMs: lastAtMs,
          // times are unique within a stream, so the next page begins 1 ms after the last record
          ...(rest.order === 'asc'
            ? { fromMs: lastAtMs + 1, toMs: Math.max(endsAtMs, lastAtMs) }
            : { toMs: lastAtMs - 1 }),
        }
        page = null
        if (isOver) return
        stalled = setTimeout(() => {
          end()
          controller.error(new Error('the client reads nothing'))
        }, stallMs)
        stalled.unref()
      },
      cancel: end,
    },
    { highWaterMark: 1 },
  )
}
