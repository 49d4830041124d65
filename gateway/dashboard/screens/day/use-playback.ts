import { useEffect, useRef } from 'preact/hooks'
import { Playback, type Span } from '#dashboard/live/replay/playback.ts'

/** Returns the playback of a replay, which starts at a moment and ends with the screen; its span may grow. */
export function usePlayback(span: Span, firstMs: number): Playback {
  const kept = useRef<Playback>(null)
  if (kept.current === null) {
    kept.current = new Playback()
    kept.current.open(span, firstMs)
  }
  const playback = kept.current
  const { fromMs, toMs } = span
  useEffect(() => playback.stretch({ fromMs, toMs }), [playback, fromMs, toMs])
  useEffect(() => () => playback.pause(), [playback])
  return playback
}
