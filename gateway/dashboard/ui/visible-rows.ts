import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Rows above and below what is seen, so that a quick thumb finds no gap. */
const SPARE_ROWS = 6

interface SeenRows {
  /** Of the element that scrolls. */
  ref: RefObject<HTMLDivElement | null>
  onScroll: () => void
  /** First row to draw, and how many. */
  from: number
  count: number
}

/** Which rows of a list of `total`, each `rowPx` high, are to be in the page. */
export function useSeenRows(total: number, rowPx: number): SeenRows {
  const ref = useRef<HTMLDivElement>(null)
  const [seen, setSeen] = useState({ from: 0, count: 20 })
  const look = () => {
    const element = ref.current
    if (element === null) return
    const from = Math.max(0, Math.floor(element.scrollTop / rowPx) - SPARE_ROWS)
    const count = Math.ceil(element.clientHeight / rowPx) + 2 * SPARE_ROWS
    setSeen((known) => (known.from === from && known.count === count ? known : { from, count }))
  }
  useLayoutEffect(() => {
    look()
    const element = ref.current
    if (element === null) return
    const observer = new ResizeObserver(look)
    observer.observe(element)
    return () => observer.disconnect()
  }, [rowPx])
  return { ref, onScroll: look, from: Math.min(seen.from, Math.max(0, total - 1)), count: seen.count }
}
