import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Number of rows above and below the visible ones, so that fast scrolling shows no gap. */
const SPARE_ROWS = 6
const NORMAL_FONT_PX = 16

interface SeenRows {
  /** Ref of the scrolling element. */
  ref: RefObject<HTMLDivElement | null>
  onScroll: () => void
  /** Index of the first row to draw, and number of rows. */
  from: number
  count: number
  rowPx: number
}

/** Returns the rows of a list that must be in the page; `normalPx` is their height at the normal text size. */
export function useSeenRows(total: number, normalPx: number): SeenRows {
  const rowPx = (normalPx * Number.parseFloat(getComputedStyle(document.documentElement).fontSize)) / NORMAL_FONT_PX
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
    // paper shows all of them
    const toPrint = () => setSeen({ from: 0, count: Number.POSITIVE_INFINITY })
    addEventListener('beforeprint', toPrint)
    addEventListener('afterprint', update)
    return () => {
      observer.disconnect()
      removeEventListener('beforeprint', toPrint)
      removeEventListener('afterprint', update)
    }
  }, [rowPx])
  return { ref, onScroll: update, from: Math.min(seen.from, Math.max(0, total - 1)), count: seen.count, rowPx }
}
