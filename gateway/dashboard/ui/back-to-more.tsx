import { toHash } from '#dashboard/live/route.ts'
import { moreTexts } from '#dashboard/texts/more.ts'
import { Icon } from './icons.tsx'

/** Link from a page of More to the list of them. */
export function BackToMore() {
  return (
    <a class="button" href={toHash('more')} aria-label={moreTexts().back}>
      <Icon name="back" />
    </a>
  )
}
