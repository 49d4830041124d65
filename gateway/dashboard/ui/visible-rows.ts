import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Number of rows above and below the visible ones, so that fast scrolling shows no gap. */
const SPARE_ROWS = 6

interface SeenRows {
  /** Ref of the scrolling element. */
  ref: RefObject<HTMLDivElement | null>
  onScroll: () => void
  /** Index of the first row to draw, and number of rows. */
  from: number
  count: number
}

/** Returns the rows of a list of `total`, each `rowPx` high, that must be in the page. */
export function useSeenRows(total: number, rowPx: number): SeenRows {
  const ref = useRef<HTMLDivElement>(null)
  const [seen, setSeen] = useState({ from: 0, count: 20 })
  const update = () => {
    const element = ref.current
    if (element === null) return
    const from = Math.max(0, Math.floor(element.scrollTop / rowPx) - SPARE_ROWS)
    const count = Math.ceil(element.clientHeight / rowPx) + 2 * SPARE_ROWS
    setSeen((known) => (known.from === from && known.count === count ? known : { from, count }))
  }
  useLayoutEffect(() => {
    update()
    const element = ref.current
    if (element === null) return
    const observer = new ResizeObserver(update)
    observer.observe(element)
    return () => observer.disconnect()
  }, [rowPx])
  return { ref, onScroll: update, from: Math.min(seen.from, Math.max(0, total - 1)), count: seen.count }
}
