import { useEffect, useState } from 'preact/hooks'
import { changesIn, type NumberField, patchOf, type SiteEdits } from '#dashboard/live/site-form.ts'
import { formatSpeed } from '#dashboard/texts/format.ts'
import { siteTexts } from '#dashboard/texts/site.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { type Sending, useSending } from '#dashboard/ui/sending.ts'
import { ApiError } from '#shared/client.ts'
import type { FieldError } from '#shared/errors.ts'
import { LOCK_SPEED_KMH } from '#shared/site/settings.ts'
import type { Units } from '#shared/units.ts'
import type { SiteSettingsJson } from '#shared/wire/site.ts'

/** Saved settings with the local edits. */
export interface SiteEditor extends Pick<Sending, 'fault' | 'isSending'> {
  settings: SiteSettingsJson
  edits: SiteEdits
  edit: (change: SiteEdits) => void
  undo: () => void
  changes: number
  isReadOnly: boolean
  /** Units of the typed numbers. */
  units: Units
  /** Errors keyed by field name. */
  faults: ReadonlyMap<string, string>
  isSaved: boolean
  save: () => Promise<void>
}

/**
 * Edits are kept separate from the settings, so that changes by others become visible, and typed values stay until they
 * are saved or reverted, even if the connection is lost.
 */
export function useSiteEditor(settings: SiteSettingsJson, onSaved: (site: SiteSettingsJson) => void): SiteEditor {
  const { api, gate, me, site } = useDashboard()
  const { units } = site.value
  const texts = siteTexts()
  const [edits, setEdits] = useState<SiteEdits>({})
  const [faults, setFaults] = useState<ReadonlyMap<string, string>>(new Map())
  const [isSaved, setSaved] = useState(false)
  const { send, fault, setFault, isSending } = useSending()
  const edit = (change: SiteEdits) => {
    setSaved(false)
    setEdits((known) => ({ ...known, ...change }))
  }
  const undo = () => {
    setEdits({})
    setFaults(new Map())
    setFault(null)
  }
  const save = async () => {
    const result = patchOf(settings, edits, units)
    if ('noNumbers' in result) return setFaults(noNumbers(result.noNumbers))
    await send(async () => {
      try {
        onSaved(await gate.act(() => api.call('PATCH /site', { body: result.patch })))
        undo()
        setSaved(true)
      } catch (error) {
        const wrong = error instanceof ApiError ? error.errors.filter((one) => 'name' in one) : []
        if (wrong.length === 0) throw error
        setFaults(new Map(wrong.map((one) => [fieldOf(one), inWords(one)])))
      }
    })
  }
  return {
    settings,
    units,
    edits,
    edit,
    undo,
    faults,
    fault,
    isSending,
    isSaved,
    save,
    changes: changesIn(settings, edits, units),
    isReadOnly: me.value?.user.role !== 'admin',
  }

  function noNumbers(fields: readonly NumberField[]): ReadonlyMap<string, string> {
    return new Map(fields.map((field) => [field, texts.noNumber]))
  }

  function inWords({ name, code, detail }: FieldError): string {
    // the gateway states its limits in km/h
    if (name === 'lock_max_speed_kmh')
      return texts.between(formatSpeed(LOCK_SPEED_KMH.least, units), formatSpeed(LOCK_SPEED_KMH.most, units))
    if (code === 'invalid_time_zone') return texts.noSuchZone
    return code === 'invalid_opening_hours' ? texts.badHours : texts.wrong(detail)
  }
}

/** Returns the field that shows an error; an error of all three voltages is shown at the middle one. */
function fieldOf({ name }: FieldError): string {
  return name === 'pack' ? 'pack.low_v' : name
}

/** Returns all settings, updated as they change; loaded here if the page does not have them. */
export function useSite() {
  const { api, settings } = useDashboard()
  const shared = settings.value
  const [known, setKnown] = useState(shared)
  const { send, fault } = useSending()
  const ask = () => send(async () => setKnown(await api.call('GET /site')))
  useEffect(() => void (shared === null ? void ask() : setKnown(shared)), [shared])
  return { site: known, setSite: setKnown, fault, ask }
}
