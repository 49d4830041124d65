import { HELP_PLACES, type HelpTopic } from '#dashboard/live/help-places.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { helpAddress } from '#shared/help-pages.ts'

interface HelpLinkProps {
  topic: HelpTopic
  /** Text in place of a question mark. */
  words?: string
}

/** Link to the docs of the gateway in a new page, so that nothing typed here is lost. */
export function HelpLink({ topic, words }: HelpLinkProps) {
  return (
    <a
      class="button"
      href={helpAddress(HELP_PLACES[topic])}
      target="_blank"
      rel="noopener"
      aria-label={words === undefined ? shellTexts().help : undefined}
    >
      {words ?? '?'}
    </a>
  )
}
