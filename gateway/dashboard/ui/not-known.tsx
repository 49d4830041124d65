import { shellTexts } from '#dashboard/texts/shell.ts'
import { useDashboard } from './dashboard-context.ts'

/** In the place of what has not been read: that it comes, or that it cannot come now. */
export function NotKnown() {
  const { line } = useDashboard()
  const texts = shellTexts()
  const isLost = line.state.value.kind === 'lost'
  return <p role="status">{isLost ? texts.notKnown : `${texts.loading} …`}</p>
}
