import type { Pace } from '#dashboard/live/flights.ts'

const OUTLINES: Record<Pace, string> = {
  late: 'M24 3 46 42H2Z',
  behind: 'M24 3 46 24 24 45 2 24Z',
  'on time': 'M24 4a20 20 0 1 0 0 40 20 20 0 0 0 0-40Z',
  between: 'M24 4a20 20 0 1 0 0 40 20 20 0 0 0 0-40Z',
}

/** Triangle: late. Diamond: behind. Circle: on time; with a dashed edge on no hole. The number is that of the hole. */
export function PaceShape({ pace, hole }: { pace: Pace; hole: number | null }) {
  return (
    <svg
      class={`pace-shape ${pace.replace(' ', '-')}`}
      width="48"
      height="48"
      viewBox="0 0 48 48"
      aria-hidden="true"
    >
      <path d={OUTLINES[pace]} />
      <text x="24" y={pace === 'late' ? 36 : 30} font-size="18" text-anchor="middle">
        {hole ?? '–'}
      </text>
    </svg>
  )
}
