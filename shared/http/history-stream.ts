import type { Slots } from '#shared/budgets/slots.ts'
import { RateLimitedError } from '#shared/errors.ts'
import type { HistoryPage, HistoryRequest } from '#shared/history/page.ts'
import { type HistoryFrame, recordSeparator } from '#shared/history/text.ts'

/** Rows a page: some 35 KB of text, and less than a millisecond during which other requests wait. */
const PAGE_ROWS = 200
/** How long a client may take none of a page that is ready. */
const STALL_MS = 60_000
const RETRY_S = 10

const encoder = new TextEncoder()

/** Who downloads, and on what terms. */
export interface Download {
  readonly userId: string
  /** What the user has of downloads at once; an answer of one page is none. */
  readonly slots: Slots
  /** Whether the key is still good and sees the records; asked before each page but the first. */
  readonly mayGoOn: () => boolean | Promise<boolean>
  readonly pageRows?: number
  readonly stallMs?: number
}

/**
 * History as one text, read a page at a time as fast as the client takes it: memory stays the same however long the
 * range is, and reading ends when the client leaves, stalls, or may not see the records any more; what it has then is
 * cut off, not complete. The first page is read before this resolves, so that a store that cannot be read is still an
 * error answer, and so is `too_many_downloads`.
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
  // an answer to a live device ends with the newest record that there is now; its clock may be ahead of ours
  const endsAtMs =
    !isLastPage(page) && rest.order === 'asc'
      ? (await readPage({ ...request, order: 'desc', limit: 1, previousMs: null })).lastAtMs
      : rest.toMs
  const hasSlot = !isLastPage(page)
  if (hasSlot && !slots.take(userId)) {
    const message = 'you have as many downloads under way as one user may'
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
            if (!(await mayGoOn())) throw new Error('the caller may not see these records any more')
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
        // pages go on as they are: copies of them would be most of the garbage of a long download
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
          // times are unique within a stream, so the next page begins right beside the last record
          ...(rest.order === 'asc'
            ? { fromMs: lastAtMs + 1, toMs: Math.max(endsAtMs, lastAtMs) }
            : { toMs: lastAtMs - 1 }),
        }
        page = null
        if (isOver) return
        stalled = setTimeout(() => {
          end()
          controller.error(new Error('the client takes nothing'))
        }, stallMs)
        stalled.unref()
      },
      cancel: end,
    },
    { highWaterMark: 1 },
  )
}
