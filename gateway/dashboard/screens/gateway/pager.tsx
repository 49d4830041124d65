interface PagerProps {
  /** Of the first item of the page, and how many a page has. */
  offset: number
  limit: number
  /** There is no page after this one. */
  isLast: boolean
  names: { previous: string; next: string }
  onOffset: (offset: number) => void
}

/** A page before, and one after, where there are any. */
export function Pager({ offset, limit, isLast, names, onOffset }: PagerProps) {
  if (offset === 0 && isLast) return null
  return (
    <div class="row">
      <button
        type="button"
        class="button"
        disabled={offset === 0}
        onClick={() => onOffset(Math.max(0, offset - limit))}
      >
        {names.previous}
      </button>
      <button type="button" class="button" disabled={isLast} onClick={() => onOffset(offset + limit)}>
        {names.next}
      </button>
    </div>
  )
}
