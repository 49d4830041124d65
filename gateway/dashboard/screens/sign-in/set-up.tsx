import { useEffect, useState } from 'preact/hooks'
import { SETUP_SESSION, timeZones } from '#dashboard/live/set-up.ts'
import { signInTexts } from '#dashboard/texts/sign-in.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { ApiClient, ApiError } from '#shared/client.ts'
import { isTimeZone } from '#shared/site/time-zone.ts'
import type { MeJson } from '#shared/wire/sessions.ts'
import { KeyShown } from '../more/key-shown.tsx'
import { SignInPage } from './sign-in-page.tsx'

interface SetUpProps {
  me: MeJson
  onDone: (me: MeJson) => void
}

/** First start: name and time zone of the course, then a personal key. */
export function SetUp({ me, onDone }: SetUpProps) {
  const { api } = useDashboard()
  const texts = signInTexts()
  const [apiKey, setApiKey] = useState<string | null>(null)
  const { send, fault } = useSending()
  // a key shown before a reload may not have been saved: a new one is shown until a user has signed in with it
  const isReloaded = me.site.name !== '' && apiKey === null
  const makeAgain = () => send(async () => setApiKey((await api.call('POST /sessions/current/key')).api_key))
  useEffect(() => void (isReloaded && makeAgain()), [])
  if (isReloaded)
    return (
      <SignInPage title={texts.ownKey}>
        <div class="panel">
          <Fault text={fault} />
          <button type="button" class="button main" onClick={() => void makeAgain()}>
            {texts.tryAgain}
          </button>
        </div>
      </SignInPage>
    )
  if (apiKey === null) return <CourseForm onKey={setApiKey} />
  return <OwnKey apiKey={apiKey} userId={me.user.user_id} isAgain={me.site.name !== ''} onDone={onDone} />
}

interface OwnKeyProps {
  apiKey: string
  userId: string
  /** True if an earlier key was shown, which is now invalid. */
  isAgain: boolean
  onDone: (me: MeJson) => void
}

/** Personal key, and a PIN so that the key is needed only once. */
function OwnKey({ apiKey, userId, isAgain, onDone }: OwnKeyProps) {
  const { api } = useDashboard()
  const texts = signInTexts()
  const [pin, setPin] = useState('')
  const { send, fault, isSending } = useSending()
  const finish = (event: Event) => {
    event.preventDefault()
    void send(async () => {
      // uses the key, because the rights of the session may have expired while the user saved it
      const byKey = new ApiClient({ url: '', apiKey })
      if (pin !== '') await byKey.call('PUT /users/{id}/pin', { path: { id: userId }, body: { pin } })
      onDone(await api.call('POST /sessions', { body: { api_key: apiKey } }))
    })
  }
  return (
    <SignInPage title={texts.ownKey}>
      <form class="panel" onSubmit={finish}>
        <p>{texts.ownKeyHow}</p>
        {isAgain && <p>{texts.keyAgain}</p>}
        <KeyShown apiKey={apiKey} of={texts.ownKey} />
        <label class="field">
          {texts.ownPin}
          <input
            type="text"
            inputMode="numeric"
            autocomplete="off"
            pattern="[0-9]{4,6}"
            maxLength={6}
            value={pin}
            onInput={({ currentTarget }) => setPin(currentTarget.value)}
            aria-describedby="own-pin"
          />
        </label>
        <p id="own-pin" class="small">
          {texts.ownPinWhy}
        </p>
        <Fault text={fault} />
        <button type="submit" class="button main" disabled={isSending}>
          {texts.writtenDown}
        </button>
      </form>
    </SignInPage>
  )
}

function CourseForm({ onKey }: { onKey: (apiKey: string) => void }) {
  const texts = signInTexts()
  const [zones] = useState(timeZones)
  const [name, setName] = useState('')
  const [timeZone, setTimeZone] = useState(zones.own)
  const [fileKey, setFileKey] = useState('')
  const { start, fault, isSending, isLate } = useStart(onKey)
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

interface SetUpInput {
  name: string
  timeZone: string
  /** Key of admin-key.txt; empty while it is not required. */
  fileKey: string
}

function useStart(onKey: (apiKey: string) => void) {
  const { api, preferences } = useDashboard()
  const texts = signInTexts()
  const { send, fault, setFault, isSending } = useSending()
  const [isLate, setLate] = useState(false)
  const ask = async ({ name, timeZone, fileKey }: SetUpInput) => {
    const { language } = preferences.choice.value
    if (fileKey !== '') await api.call('POST /sessions', { body: { api_key: fileKey, name: SETUP_SESSION } })
    const body = { name, time_zone: timeZone, ...(language === null ? {} : { language }) }
    await api.call('PATCH /site', { body })
    const { api_key } = await api.call('POST /sessions/current/key')
    onKey(api_key)
  }
  const start = async (input: SetUpInput) => {
    if (!isTimeZone(input.timeZone)) return setFault(texts.noSuchZone)
    let why: string | null = null
    await send(async () => {
      try {
        await ask(input)
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
