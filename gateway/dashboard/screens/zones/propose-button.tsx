import { shownZones, withProposed } from '#dashboard/map/zone-draft.ts'
import type { ZoneEditor } from '#dashboard/map/zone-editor.ts'
import { zonesTexts } from '#dashboard/texts/zones.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { ApiError } from '#shared/client.ts'

interface ProposeButtonProps {
  editor: ZoneEditor
  onMessage: (words: string) => void
}

/** Adds zones derived from the course map that do not exist yet; nothing is saved. */
export function ProposeButton({ editor, onMessage }: ProposeButtonProps) {
  const { api, gate } = useDashboard()
  const texts = zonesTexts()
  const propose = async () => {
    try {
      const { features } = await gate.act(() => api.call('POST /course/propose-zones'))
      const count = editor.zones.length
      const zones = withProposed(editor.zones, shownZones(features))
      if (zones.length > count) editor.replace(zones)
      onMessage(texts.proposed(zones.length - count))
    } catch (error) {
      onMessage(error instanceof ApiError && error.code === 'no_course' ? texts.noCourse : refusalText(error))
    }
  }
  return <Button text={texts.propose} disabled={editor.current.value === null} onClick={() => void propose()} />
}
