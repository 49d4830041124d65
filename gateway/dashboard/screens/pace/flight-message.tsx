import { useState } from 'preact/hooks'
import { screenOf } from '#dashboard/live/safe-lock.ts'
import { paceTexts } from '#dashboard/texts/pace.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Question } from '#dashboard/ui/question.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'

const MESSAGE_MAX = 200

interface FlightMessageProps {
  carts: readonly string[]
  onCancel: () => void
  onSent: (carts: readonly string[]) => void
}

/** Dialog for a message to the screens of carts that play together. */
export function FlightMessage({ carts, onCancel, onSent }: FlightMessageProps) {
  const { fleet, commands, screenTypes } = useDashboard()
  const texts = paceTexts()
  const [text, setText] = useState(texts.ready[0] ?? '')
  const screens = carts.flatMap((cart) => {
    const known = fleet.carts.get(cart)
    const screen = known && screenOf(known, screenTypes.value)
    return screen === undefined ? [] : [{ cart, hardwareId: screen.hardware_id }]
  })
  const send = () => {
    for (const screen of screens) commands.send({ ...screen, command: 'message', params: { text: text.trim() } })
    onSent(screens.map(({ cart }) => cart))
  }
  return (
    <Question
      title={texts.messageTo(texts.cart(carts))}
      action={texts.send}
      isReady={text.trim() !== '' && screens.length > 0}
      onCancel={onCancel}
      onAnswer={send}
    >
      <fieldset class="ready-texts">
        <legend>{texts.presets}</legend>
        {texts.ready.map((ready) => (
          <button key={ready} type="button" class="button" aria-pressed={ready === text} onClick={() => setText(ready)}>
            {ready}
          </button>
        ))}
      </fieldset>
      <TextField
        name={texts.text}
        hint={texts.left(MESSAGE_MAX - text.length)}
        max={MESSAGE_MAX}
        isLong
        value={text}
        onInput={setText}
      />
      <p>{screens.length === 0 ? texts.noScreen : texts.screens(screens.length)}</p>
    </Question>
  )
}
