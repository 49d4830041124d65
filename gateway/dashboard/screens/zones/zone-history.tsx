import { useState } from 'preact/hooks'
import { readZones } from '#dashboard/map/site-zones.ts'
import type { ZoneEditor } from '#dashboard/map/zone-editor.ts'
import { formatMoment } from '#dashboard/texts/format.ts'
import { zonesTexts } from '#dashboard/texts/zones.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { useAdminList } from '../more/use-admin-list.ts'

/** Last twenty saved sets; one tap restores a set after a question. */
export function ZoneHistory({ editor, onDone }: { editor: ZoneEditor; onDone: () => void }) {
  const dashboard = useDashboard()
  const { api, clock, site } = dashboard
  const texts = zonesTexts()
  const { list, fault } = useAdminList(() => api.call('GET /zones/versions'))
  const [asked, setAsked] = useState<{ version: number; when: string } | null>(null)
  const whenOf = (at: string) => formatMoment(Date.parse(at), clock.nowMs(), site.value.time_zone)
  if (asked !== null)
    return (
      <Question
        title={texts.askRestore(asked.when)}
        action={texts.restore}
        onCancel={() => setAsked(null)}
        onAnswer={async () => {
          await api.call('POST /zones/versions/{version}/restore', { path: { version: asked.version } })
          editor.saved(await readZones(dashboard))
          onDone()
        }}
      >
        <p>{texts.restoreMeans}</p>
      </Question>
    )
  return (
    <Dialog title={texts.earlier} onCancel={onDone}>
      <Fault text={fault} />
      <ul class="zone-list">
        {(list ?? []).map(({ version, at, by, count }, i) => (
          <li key={version}>
            <button type="button" disabled={i === 0} onClick={() => setAsked({ version, when: whenOf(at) })}>
              <b>{whenOf(at)}</b>
              <span class="small" dir="auto">
                {[by.name, texts.count(count), ...(i === 0 ? [texts.inForce] : [])].join(', ')}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={onDone}>
          {texts.cancel}
        </button>
      </div>
    </Dialog>
  )
}
