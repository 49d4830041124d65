import { useEffect, useState } from 'preact/hooks'
import {
  keepRestore,
  SOURCE_FIELDS,
  type SourceKind,
  type SourceValues,
  sourceOf,
  uploadBackup,
} from '#dashboard/live/set-up/restore-source.ts'
import { timeZones } from '#dashboard/live/set-up/set-up.ts'
import { formatBytes, formatCount, formatMoment, formatNumber } from '#dashboard/texts/format.ts'
import { restoreTexts } from '#dashboard/texts/gateway/restore.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { FileChoice } from '../course/file-choice.tsx'
import { Lacks } from './restore-progress.tsx'
import { SignInPage } from './sign-in-page.tsx'

type Found = AnswerOf<'POST /setup/backups'>['backups'][number]

const TYPED_KINDS = ['upload', 'bucket', 'head_office'] as const
const SECRETS: readonly string[] = ['secret', 'key']
const FIELD_MAX = 500

interface RestoreBackupProps {
  onStarted: (id: string) => void
  onBack: () => void
}

/** Chooses a backup of an old gateway and restores it on this new one. */
export function RestoreBackup({ onStarted, onBack }: RestoreBackupProps) {
  const { api } = useDashboard()
  const texts = restoreTexts()
  const [sticks, setSticks] = useState<readonly string[]>([])
  const [place, setPlace] = useState('')
  const [values, setValues] = useState<SourceValues>({})
  const [passphrase, setPassphrase] = useState('')
  const [uploaded, setUploaded] = useState<number | null>(null)
  const [found, setFound] = useState<readonly Found[] | null>(null)
  const [number, setNumber] = useState<number | undefined>(undefined)
  const { send, fault, setFault, isSending } = useSending()
  useEffect(() => {
    // without the list a stick can still be chosen after a reload
    void api.call('GET /setup/places').then(
      ({ sticks }) => setSticks(sticks.map(({ path }) => path)),
      () => undefined,
    )
  }, [api])
  const kind: SourceKind | undefined = sticks.includes(place) ? 'stick' : TYPED_KINDS.find((one) => one === place)
  const secret = passphrase === '' ? {} : { passphrase }
  const change = (act: () => void) => {
    act()
    setFound(null)
    setFault(null)
  }
  const find = async (from: ReturnType<typeof sourceOf>) => {
    if (from.kind === 'head_office') return start(from)
    const { backups } = await api.call('POST /setup/backups', { body: { from, ...secret } })
    setFound(backups)
    setNumber(backups[0]?.number)
  }
  const start = async (from: ReturnType<typeof sourceOf>) => {
    const chosen = from.kind === 'head_office' || number === undefined ? secret : { ...secret, number }
    const { restore_id } = await api.call('POST /setup/restore', { body: { from, ...chosen } })
    keepRestore(restore_id)
    onStarted(restore_id)
  }
  const chosen = found?.find((one) => one.number === number)
  const submit = (event: Event) => {
    event.preventDefault()
    if (kind === undefined) return
    const from = sourceOf(kind, { ...values, path: place })
    void send(() => (chosen === undefined ? find(from) : start(from)))
  }
  const upload = (file: File) =>
    send(async () => {
      setFound(null)
      setUploaded(0)
      await uploadBackup(api, file, setUploaded)
    })
  const isReady = kind !== undefined && (kind !== 'upload' || uploaded === 1) && chosen?.is_newer !== true
  return (
    <SignInPage title={texts.offer}>
      <form class="panel" onSubmit={submit}>
        <label class="field">
          {texts.where}
          <select value={place} onChange={({ currentTarget: { value } }) => change(() => setPlace(value))}>
            <option value="">{texts.choose}</option>
            {sticks.map((path) => (
              <option key={path} value={path}>
                {texts.stick(path)}
              </option>
            ))}
            {TYPED_KINDS.map((one) => (
              <option key={one} value={one}>
                {texts.kinds[one]}
              </option>
            ))}
          </select>
        </label>
        {kind === 'upload' && <FileChoice label={texts.chooseFile} accept="*" onFile={upload} />}
        {kind === 'upload' && uploaded !== null && (
          <p role="status">{texts.uploading(formatNumber(Math.floor(uploaded * 100), 0))}</p>
        )}
        {(kind === undefined ? [] : SOURCE_FIELDS[kind]).map((field) => (
          <TextField
            key={field}
            name={texts.fields[field]}
            max={FIELD_MAX}
            isSecret={SECRETS.includes(field)}
            value={values[field] ?? ''}
            onInput={(value) => change(() => setValues({ ...values, [field]: value.trim() }))}
          />
        ))}
        {kind !== undefined && kind !== 'head_office' && (
          <TextField
            name={texts.passphrase}
            max={FIELD_MAX}
            isSecret
            value={passphrase}
            onInput={(value) => change(() => setPassphrase(value))}
          />
        )}
        {found?.length === 0 && <p class="error">{texts.none}</p>}
        {chosen !== undefined && found !== null && <Chosen found={found} chosen={chosen} onChosen={setNumber} />}
        <Fault text={fault} />
        <div class="row">
          <button type="button" class="button" onClick={onBack}>
            {texts.back}
          </button>
          <button type="submit" class="button main" disabled={!isReady || isSending}>
            {chosen === undefined && kind !== 'head_office' ? texts.find : texts.restore}
          </button>
        </div>
      </form>
    </SignInPage>
  )
}

interface ChosenProps {
  found: readonly Found[]
  chosen: Found
  onChosen: (number: number) => void
}

/** Choice among the backups of a place, with facts about the chosen one. */
function Chosen({ found, chosen, onChosen }: ChosenProps) {
  const { clock } = useDashboard()
  const texts = restoreTexts()
  const { own } = timeZones()
  const { devices, users, bytes, program, is_newer, lacks } = chosen
  const facts = [texts.counts(formatCount(devices), formatCount(users)), formatBytes(bytes), program]
  return (
    <>
      <label class="field">
        {texts.found}
        <select value={chosen.number} onChange={({ currentTarget }) => onChosen(Number(currentTarget.value))}>
          {found.map(({ number, at }) => (
            <option key={number} value={number}>
              {formatMoment(Date.parse(at), clock.nowMs(), own)}
            </option>
          ))}
        </select>
      </label>
      <p class="small">{facts.join(' · ')}</p>
      {is_newer && <p class="error">{texts.newer(program)}</p>}
      {lacks.length > 0 && <Lacks lacks={lacks} />}
    </>
  )
}
