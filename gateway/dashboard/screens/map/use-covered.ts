import { useCallback, useRef, useState } from 'preact/hooks'
import type { Insets } from '#dashboard/map/placing.ts'

interface Covered {
  /** Null until it has been measured. */
  insets: Insets | null
  /** For the element that lies on the map's upper edge. */
  top: (element: HTMLElement | null) => void
}

const PHONE = matchMedia('(max-width: 700px)')
/** The buttons of the map lie in a row above the sheet then. */
const BUTTONS_PX = 84

/** How much of the map is below what lies on it, as that grows and shrinks. */
export function useCovered(): Covered {
  const [height, setHeight] = useState<number | null>(null)
  const observer = useRef<ResizeObserver | null>(null)
  const top = useCallback((element: HTMLElement | null) => {
    observer.current?.disconnect()
    if (element === null) return
    const look = () => setHeight(Math.round(element.offsetTop + element.offsetHeight))
    observer.current = new ResizeObserver(look)
    observer.current.observe(element)
    look()
  }, [])
  const bottom = PHONE.matches ? BUTTONS_PX : 0
  return { insets: height === null ? null : { top: height, right: 0, bottom, left: 0 }, top }
}
