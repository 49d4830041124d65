import { useState } from 'preact/hooks'
import { readZones } from '#dashboard/map/site-zones.ts'
import type { ZoneEditor } from '#dashboard/map/zone-editor.ts'
import { ZONE_SPEED_KMH, type ZoneFault, zoneFaults } from '#dashboard/map/zone-faults.ts'
import { formatLength, formatSpeed } from '#dashboard/texts/format.ts'
import { zonesTexts } from '#dashboard/texts/zones.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { ApiError } from '#shared/client.ts'
import type { Units } from '#shared/units.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'

const CHANGED_MEANWHILE = 412

/** Save button, with the errors that prevent saving, and the gateway's warnings afterwards. */
export function SavePanel({ editor }: { editor: ZoneEditor }) {
  const dashboard = useDashboard()
  const texts = zonesTexts()
  const { isSending, fault, send } = useSending()
  const [messages, setMessages] = useState<string[] | null>(null)
  const { units } = dashboard.site.value
  const faults = editor.isChanged ? zoneFaults(editor.zones) : []
  const save = async () => {
    setMessages(null)
    try {
      await put()
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== CHANGED_MEANWHILE) throw error
      editor.read(await readZones(dashboard))
      // if both changed one zone, the user chooses first
      if (editor.theirs === null && editor.isChanged) await put()
    }
  }
  const put = async () => {
    const body = { type: 'FeatureCollection' as const, features: [...editor.zones] }
    const headers = { 'If-Match': editor.etag }
    const answer = await dashboard.gate.act(() => dashboard.api.call('PUT /zones', { body, headers }))
    editor.saved(await readZones(dashboard))
    setMessages([texts.saved, ...warningsOf(answer, units)])
  }
  return (
    <div class="stack">
      {editor.isChanged && (
        <Button
          text={isSending ? texts.saving : texts.save}
          is="main wide"
          disabled={isSending || faults.length > 0 || editor.theirs !== null}
          onClick={() => void send(save)}
        />
      )}
      {faults.length > 0 && (
        <ul class="error bullets" role="alert">
          {faults.map((one) => (
            <li key={JSON.stringify(one)} dir="auto">
              {faultText(one, units)}
            </li>
          ))}
        </ul>
      )}
      <Fault text={fault} />
      <div role="status">
        {!editor.isChanged && messages?.map((line) => <p key={line}>{line}</p>)}
        {editor.isChanged && <p class="small">{texts.unsaved}</p>}
      </div>
    </div>
  )
}

function faultText(fault: ZoneFault, units: Units): string {
  const texts = zonesTexts()
  if (fault.kind === 'zone') {
    const { least, most } = ZONE_SPEED_KMH
    const why =
      fault.why === 'speed'
        ? texts.speedFault(formatSpeed(least, units), formatSpeed(most, units))
        : texts.faults[fault.why]
    return texts.fault(fault.name || texts.unnamed, why)
  }
  return texts[fault.kind](fault.count)
}

/** Returns the differences between the drawn zones and those published to tee boxes. */
function warningsOf({ published, warnings }: AnswerOf<'PUT /zones'>, units: Units): string[] {
  const texts = zonesTexts()
  const coarsest = Math.max(0, ...published.map(({ simplified_m }) => simplified_m))
  return [
    ...(coarsest > 0 ? [texts.simplified(formatLength(coarsest, units))] : []),
    ...(warnings.some(({ code }) => code === 'group_gone') ? [texts.groupGone] : []),
  ]
}
