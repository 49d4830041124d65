import { HELP_PLACES, type HelpTopic } from '#dashboard/live/help-places.ts'
import { helpTexts } from '#dashboard/texts/help.ts'
import { helpAddress } from '#shared/help-pages.ts'

interface HelpLinkProps {
  topic: HelpTopic
  /** Words in place of a question mark. */
  words?: string
}

/** Leads to the docs of the gateway, in a page of their own: nothing that was typed here is lost. */
export function HelpLink({ topic, words }: HelpLinkProps) {
  const texts = helpTexts()
  return (
    <a
      class="button"
      href={helpAddress(HELP_PLACES[topic])}
      target="_blank"
      rel="noopener"
      aria-label={words === undefined ? texts.help : undefined}
    >
      {words ?? '?'}
    </a>
  )
}
