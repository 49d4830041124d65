import './person-gate.css'
import { useEffect, useState } from 'preact/hooks'
import { isAtLeast, isPin, type PersonQuestion } from '#dashboard/live/pin-prompt.ts'
import { personTexts } from '#dashboard/texts/person.ts'
import { signInTexts } from '#dashboard/texts/sign-in.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { PinPad } from './pin-pad.tsx'

type Person = AnswerOf<'GET /people'>[number]

/** PIN prompt, shown when `dashboard.gate` needs a user. */
export function PersonDialog() {
  const { question } = useDashboard().gate
  return question === null ? null : <Asked key={question.role} question={question} />
}

function Asked({ question }: { question: PersonQuestion }) {
  const { gate } = useDashboard()
  const texts = personTexts()
  const people = usePeople(question)
  // undefined: the user has not chosen a different person than last time
  const [chosen, setChosen] = useState<Person | null | undefined>(undefined)
  const title = question.role === 'admin' ? texts.whoForRights : texts.who
  const person = chosen === undefined ? people.last : chosen
  return (
    <Dialog title={person === null ? title : texts.pinOf(person.name)} onCancel={() => gate.cancel()}>
      {question.reason !== 'rights' && <p>{texts[question.reason]}</p>}
      {person !== null ? (
        <PinOf person={person} />
      ) : (
        <People people={people.all} question={question} onChosen={setChosen} />
      )}
      <div class="dialog-buttons">
        {person !== null && <Button text={texts.others} onClick={() => setChosen(null)} />}
        <Button text={texts.cancel} onClick={() => gate.cancel()} />
      </div>
    </Dialog>
  )
}

/** Loads the users who may respond, and the last one; null until the gateway has sent them. */
function usePeople({ role }: PersonQuestion) {
  const { api, preferences } = useDashboard()
  const [known, setKnown] = useState<readonly Person[] | null>(null)
  // if the list cannot be loaded, the key remains
  useEffect(() => void api.call('GET /people').then(setKnown, () => setKnown([])), [])
  const all = known?.filter((person) => isAtLeast(person.role, role)) ?? null
  // with a single candidate the choice is skipped
  const only = role === 'admin' && all?.length === 1 ? all[0] : undefined
  return { all, last: all?.find(({ user_id }) => user_id === preferences.personId.value) ?? only ?? null }
}

interface PeopleProps {
  /** Null until they are known. */
  people: readonly Person[] | null
  question: PersonQuestion
  onChosen: (person: Person) => void
}

function People({ people, question, onChosen }: PeopleProps) {
  const { me } = useDashboard()
  const texts = personTexts()
  const { fault, isSending, send, signOut } = useSignOut()
  return (
    <>
      {people?.length === 0 && <p>{texts.noPin}</p>}
      <ul class="stack people">
        {people?.map((person) => (
          <li key={person.user_id}>
            <button type="button" class="button wide" dir="auto" onClick={() => onChosen(person)}>
              <span class="cut">{person.name}</span>
            </button>
          </li>
        ))}
        {question.reason !== 'rights' && (
          <li>
            <button type="button" class="button wide" disabled={isSending} onClick={() => void send(signOut)}>
              <span class="cut">{texts.asTablet(me.value?.session?.name ?? '')}</span>
            </button>
          </li>
        )}
      </ul>
      <Fault text={fault} />
      {question.role === 'admin' && me.value?.user.role === 'admin' && <WithKey asksForPin={people?.length === 0} />}
    </>
  )
}

/** Signs the PIN user out, if any: the tablet acts as itself until the next PIN. */
function useSignOut() {
  const dashboard = useDashboard()
  const sending = useSending()
  const signOut = async () => {
    dashboard.acts(await dashboard.api.call('DELETE /sessions/current/person'))
    dashboard.gate.asTablet()
  }
  return { ...sending, signOut }
}

function PinOf({ person }: { person: Person }) {
  const dashboard = useDashboard()
  const { send, fault, isSending } = useSending()
  const enter = (pin: string) =>
    send(async () => {
      const body = { user_id: person.user_id, pin }
      dashboard.acts(await dashboard.api.call('POST /sessions/current/person', { body }))
      dashboard.gate.done()
    })
  return (
    <>
      <PinPad isSending={isSending} onPin={(pin) => void enter(pin)} />
      <Fault text={fault} />
    </>
  )
}

/** Key prompt for an admin without a PIN, who proves to be the user who signed in, and may set a PIN with it. */
function WithKey({ asksForPin }: { asksForPin: boolean }) {
  const dashboard = useDashboard()
  const texts = personTexts()
  const [key, setKey] = useState('')
  const [pin, setPin] = useState('')
  const { send, fault, setFault, isSending } = useSending()
  const enter = async (event: Event) => {
    event.preventDefault()
    if (pin !== '' && !isPin(pin)) return setFault(signInTexts().pinLength)
    const { api, me } = dashboard
    const before = me.value?.session
    await send(async () => {
      const body = { api_key: key.trim(), ...(before == null ? {} : { name: before.name }) }
      // this request ends the previous session: the close of its connection must not open the sign-in screen
      dashboard.line.stop()
      const made = await api.call('POST /sessions', { body }).catch((error: unknown) => {
        dashboard.line.start()
        throw error
      })
      dashboard.begin(made)
      if (pin !== '') await api.call('PUT /users/{id}/pin', { path: { id: made.user.user_id }, body: { pin } })
      dashboard.gate.done()
    })
  }
  return (
    <form class="stack" onSubmit={(event) => void enter(event)}>
      <label class="field">
        {texts.key}
        <input
          type="password"
          autocomplete="off"
          value={key}
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
        />
      </label>
      {asksForPin && (
        <TextField name={texts.newPin} hint={texts.newPinWhy} max={6} isNumber value={pin} onInput={setPin} />
      )}
      <Fault text={fault} />
      <Button text={texts.goOn} type="submit" is="main" disabled={isSending || key.trim() === ''} />
    </form>
  )
}
