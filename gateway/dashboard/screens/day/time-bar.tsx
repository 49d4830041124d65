import './time-bar.css'
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { Playback, Span } from '#dashboard/live/replay/playback.ts'
import { SPEEDS, type Speed } from '#dashboard/live/replay/playback.ts'
import { dayTexts } from '#dashboard/texts/day.ts'
import { formatSecond } from '#dashboard/texts/format.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'

interface TimeBarProps {
  playback: Playback
  span: Span
  /** Content along the time axis, equally wide. */
  children?: ComponentChildren
}

const SECOND_MS = 1000

/** Time bar of a replay: events, a slider, play and pause, and the speed. */
export function TimeBar({ playback, span, children }: TimeBarProps) {
  return (
    <div class="time-bar">
      <Lanes playback={playback} span={span}>
        {children}
      </Lanes>
      <Slider playback={playback} span={span} />
      <Controls playback={playback} />
    </div>
  )
}

/** Lanes along the time axis; a tap jumps to that moment. */
function Lanes({ playback, span, children }: TimeBarProps) {
  const lanes = useRef<HTMLDivElement>(null)
  const seek = ({ clientX }: PointerEvent) => {
    const box = lanes.current?.getBoundingClientRect()
    if (box === undefined || box.width === 0) return
    playback.seek(span.fromMs + ((clientX - box.left) / box.width) * (span.toMs - span.fromMs))
  }
  return (
    <div class="time-lanes" aria-hidden="true">
      {children}
      <div
        class="time-field"
        ref={lanes}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          seek(event)
        }}
        onPointerMove={(event) => event.buttons > 0 && seek(event)}
      >
        <Needle playback={playback} span={span} />
      </div>
    </div>
  )
}

function Needle({ playback, span: { fromMs, toMs } }: Omit<TimeBarProps, 'children'>) {
  const share = (playback.atMs.value - fromMs) / Math.max(1, toMs - fromMs)
  return <div class="time-needle" style={{ left: `${(100 * share).toFixed(3)}%` }} />
}

function Slider({ playback, span: { fromMs, toMs } }: Omit<TimeBarProps, 'children'>) {
  const { site } = useDashboard()
  const atMs = playback.atMs.value
  return (
    <input
      class="time-slider"
      type="range"
      min={fromMs}
      max={toMs}
      step={SECOND_MS}
      value={atMs}
      aria-label={dayTexts().moment}
      aria-valuetext={formatSecond(atMs, site.value.time_zone)}
      onInput={({ currentTarget }) => playback.seek(Number(currentTarget.value))}
    />
  )
}

function Controls({ playback }: { playback: Playback }) {
  const { site } = useDashboard()
  const texts = dayTexts()
  const isPlaying = playback.isPlaying.value
  return (
    <div class="time-controls">
      <Button
        icon={isPlaying ? 'pause' : 'play'}
        text={isPlaying ? texts.pause : texts.play}
        is="main"
        onClick={() => (isPlaying ? playback.pause() : playback.play())}
      />
      <output class="time-now">{formatSecond(playback.atMs.value, site.value.time_zone)}</output>
      <select
        class="input"
        aria-label={texts.speed}
        value={playback.speed.value}
        onChange={({ currentTarget }) => {
          playback.speed = speedOf(currentTarget.value)
        }}
      >
        {SPEEDS.map((speed) => (
          <option key={speed} value={speed}>
            {texts.times(speed)}
          </option>
        ))}
      </select>
    </div>
  )
}

function speedOf(text: string): Speed {
  return SPEEDS.find((speed) => String(speed) === text) ?? SPEEDS[0]
}
