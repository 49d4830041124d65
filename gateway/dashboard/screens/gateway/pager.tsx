import { Button } from '#dashboard/ui/button.tsx'

interface PagerProps {
  /** Index of the first item of the page. */
  offset: number
  limit: number
  isLast: boolean
  names: { previous: string; next: string }
  onOffset: (offset: number) => void
}

/** Buttons for the previous and the next page, if they exist. */
export function Pager({ offset, limit, isLast, names, onOffset }: PagerProps) {
  if (offset === 0 && isLast) return null
  return (
    <div class="row">
      <Button text={names.previous} disabled={offset === 0} onClick={() => onOffset(Math.max(0, offset - limit))} />
      <Button text={names.next} disabled={isLast} onClick={() => onOffset(offset + limit)} />
    </div>
  )
}
