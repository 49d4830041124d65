import { shellTexts } from '#dashboard/texts/shell.ts'
import { useDashboard } from './dashboard-context.ts'

/** Placeholder for unread data: loading, or not available now. */
export function NotKnown() {
  const { line } = useDashboard()
  const texts = shellTexts()
  const isLost = line.state.value.kind === 'lost'
  return <p role="status">{isLost ? texts.notKnown : `${texts.loading} …`}</p>
}
