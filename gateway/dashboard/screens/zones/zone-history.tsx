import { useState } from 'preact/hooks'
import { readZones } from '#dashboard/map/site-zones.ts'
import type { ZoneEditor } from '#dashboard/map/zone-editor.ts'
import { formatMoment } from '#dashboard/texts/format.ts'
import { zonesTexts } from '#dashboard/texts/zones.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import type { AuditEntryJson } from '#shared/wire/audit-log.ts'
import { useAdminList } from '../more/use-admin-list.ts'

const [LOG_ENTRIES, NAMES_MAX] = [100, 4]

/** Last twenty saved sets; one tap restores a set after a question. */
export function ZoneHistory({ editor, onDone }: { editor: ZoneEditor; onDone: () => void }) {
  const dashboard = useDashboard()
  const { api, clock, site } = dashboard
  const texts = zonesTexts()
  const { list, fault } = useAdminList(async () => ({
    sets: await api.call('GET /zones/versions'),
    // it names the zones that each save has changed
    log: await api.call('GET /audit-log', { query: { action: 'zones.updated', limit: LOG_ENTRIES } }),
  }))
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
      <ul class="stack zone-list">
        {(list?.sets ?? []).map(({ version, at, by, count }, i) => (
          <li key={version}>
            <button type="button" disabled={i === 0} onClick={() => setAsked({ version, when: whenOf(at) })}>
              <b>{whenOf(at)}</b>
              <span class="small" dir="auto">
                {[by.name, texts.count(count), ...(i === 0 ? [texts.inForce] : [])].join(', ')}
              </span>
              <span class="small" dir="auto">
                {differenceText(list?.log.entries ?? [], version)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      <div class="dialog-buttons">
        <Button text={texts.cancel} onClick={onDone} />
      </div>
    </Dialog>
  )
}

/** Names of the zones that a saved set has changed, such as "Bunker (new), Hole 3 (deleted)". */
function differenceText(entries: readonly AuditEntryJson[], version: number): string {
  const { differs } = zonesTexts()
  const entry = entries.find(({ after }) => after?.version === version)
  const [before, after] = [namesOf(entry?.before), namesOf(entry?.after)]
  const changes = [...new Map([...before, ...after])].map(([id, name]) => {
    const change = before.has(id) ? (after.has(id) ? 'changed' : 'removed') : 'added'
    return `${name} (${differs[change]})`
  })
  return [...changes.slice(0, NAMES_MAX), ...(changes.length > NAMES_MAX ? ['…'] : [])].join(', ')
}

/** Returns the names of the zones in an entry of the activity log by id. */
function namesOf(values: AuditEntryJson['before'] | undefined): Map<string, string> {
  const zones: readonly { id?: unknown; name?: unknown }[] = Array.isArray(values?.zones) ? values.zones : []
  return new Map(zones.map(({ id, name }) => [String(id), String(name ?? id)]))
}
