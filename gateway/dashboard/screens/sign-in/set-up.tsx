import { useState } from 'preact/hooks'
import { SETUP_SESSION, timeZones } from '#dashboard/live/set-up.ts'
import { signInTexts } from '#dashboard/texts/sign-in.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { ApiError } from '#shared/client.ts'
import { isTimeZone } from '#shared/site/time-zone.ts'
import type { MeJson } from '#shared/wire/sessions.ts'
import { KeyShown } from './key-shown.tsx'
import { SignInPage } from './sign-in-page.tsx'

interface SetUpProps {
  me: MeJson
  onDone: (me: MeJson) => void
}

/** The first start: what the course is called and what time it is there, and then a key of one's own. */
export function SetUp({ me, onDone }: SetUpProps) {
  const { api } = useDashboard()
  const texts = signInTexts()
  const [apiKey, setApiKey] = useState<string | null>(null)
  const { send, fault } = useSending()
  if (apiKey === null) return <CourseForm me={me} onKey={setApiKey} />
  // the session of the setup code ended with the key of the file
  const signIn = () =>
    send(async () => onDone(await api.call('POST /sessions', { body: { api_key: apiKey } })))
  return (
    <SignInPage title={texts.ownKey}>
      <div class="panel">
        <KeyShown apiKey={apiKey} onDone={() => void signIn()} />
        <Fault text={fault} />
      </div>
    </SignInPage>
  )
}

function CourseForm({ me, onKey }: { me: MeJson; onKey: (apiKey: string) => void }) {
  const texts = signInTexts()
  const [zones] = useState(timeZones)
  const [name, setName] = useState('')
  const [timeZone, setTimeZone] = useState(zones.own)
  const [fileKey, setFileKey] = useState('')
  const { start, fault, isSending, isLate } = useStart(me, onKey)
  return (
    <SignInPage title={texts.welcome}>
      <form
        class="panel"
        onSubmit={(event) => {
          event.preventDefault()
          void start({ name: name.trim(), timeZone: timeZone.trim(), fileKey: fileKey.trim() })
        }}
      >
        <label class="field">
          {texts.courseName}
          <input
            required
            maxLength={200}
            autocomplete="organization"
            dir="auto"
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
        <label class="field">
          {texts.timeZone}
          <input
            required
            list="time-zones"
            autocomplete="off"
            spellcheck={false}
            value={timeZone}
            onInput={({ currentTarget }) => setTimeZone(currentTarget.value)}
          />
        </label>
        <datalist id="time-zones">
          {zones.all.map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
        {isLate && (
          <label class="field">
            {texts.adminKey}
            <input
              type="password"
              autocomplete="off"
              value={fileKey}
              onInput={({ currentTarget }) => setFileKey(currentTarget.value)}
            />
          </label>
        )}
        <Fault text={fault} />
        <button type="submit" class="button main" disabled={isSending}>
          {texts.start}
        </button>
      </form>
    </SignInPage>
  )
}

interface Said {
  name: string
  timeZone: string
  /** Of admin-key.txt; empty while it is not asked for. */
  fileKey: string
}

function useStart(me: MeJson, onKey: (apiKey: string) => void) {
  const { api, preferences } = useDashboard()
  const texts = signInTexts()
  const { send, fault, setFault, isSending } = useSending()
  const [isLate, setLate] = useState(false)
  const ask = async ({ name, timeZone, fileKey }: Said) => {
    const { language } = preferences.choice.value
    if (fileKey !== '') await api.call('POST /sessions', { body: { api_key: fileKey, name: SETUP_SESSION } })
    const body = { name, time_zone: timeZone, ...(language === null ? {} : { language }) }
    await api.call('PATCH /site', { body })
    const { api_key } = await api.call('POST /users/{id}/rotate-key', { path: { id: me.user.user_id } })
    onKey(api_key)
  }
  const start = async (said: Said) => {
    if (!isTimeZone(said.timeZone)) return setFault(texts.noSuchZone)
    let why: string | null = null
    await send(async () => {
      try {
        await ask(said)
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        if (error.code === 'admin_required') why = texts.tooLate
        else if (error.code === 'invalid_session') why = texts.keyLost
        else throw error
        setLate(true)
      }
    })
    if (why !== null) setFault(why)
  }
  return { start, fault, isSending, isLate }
}
