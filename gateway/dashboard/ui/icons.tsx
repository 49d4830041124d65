// 24 x 24, drawn with the stroke width of the text
const PATHS = {
  map: 'M9 4 3 6v14l6-2 6 2 6-2V4l-6 2-6-2Zm0 0v14m6-12v14',
  fleet: 'M4 6h16M4 12h16M4 18h10',
  pace: 'M12 7a7 7 0 1 0 0 14 7 7 0 0 0 0-14Zm0 3v4l3 2M10 3h4',
  evening: 'M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5Z',
  alerts: 'M12 3a6 6 0 0 0-6 6v5l-2 3h16l-2-3V9a6 6 0 0 0-6-6Zm-2 17h4',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  search: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM15.5 15.5 21 21',
  close: 'M5 5l14 14M19 5 5 19',
  check: 'm4 13 5 5L20 6',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  unlock: 'M6 11h12v9H6zM8.5 11V7a3.5 3.5 0 0 1 6.8-1',
  beep: 'M4 9v6h4l5 4V5L8 9H4Zm12 0a4 4 0 0 1 0 6m2.5-9a8 8 0 0 1 0 12',
  message: 'M4 5h16v11H9l-5 4V5Z',
  wrench: 'M14 6a4 4 0 0 0 5 5l-9 9-4-4 9-9a4 4 0 0 0-1-1Z',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  home: 'M4 11 12 4l8 7v9h-5v-6H9v6H4z',
  next: 'm9 5 7 7-7 7',
  back: 'm15 5-7 7 7 7',
  flag: 'M7 21V4l10 4-10 4',
  play: 'M8 5v14l11-7z',
  pause: 'M9 5v14M15 5v14',
  bolt: 'M13 3 5 14h6l-1 7 8-11h-6l1-7Z',
} as const

export type IconName = keyof typeof PATHS

/** Icon next to a text; hidden from screen readers. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" width="26" height="26" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width={name === 'more' ? 3.5 : 2}
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )
}
