import './pin-pad.css'
import { useRef, useState } from 'preact/hooks'
import { personTexts } from '#dashboard/texts/person.ts'
import { Button } from '#dashboard/ui/button.tsx'

const SHORTEST = 4
const LONGEST = 6
const DIGITS = ['1', '2', '3', '4', '5', '6', '7', '8', '9'] as const

interface PinPadProps {
  isSending: boolean
  onPin: (pin: string) => void
}

/** Digits for a thumb and for a keyboard; typed digits are counted, not shown. */
export function PinPad({ isSending, onPin }: PinPadProps) {
  const texts = personTexts()
  const [pin, setPin] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const add = (digit: string) => setPin((known) => (known.length < LONGEST ? known + digit : known))
  const send = (event: Event) => {
    event.preventDefault()
    if (pin.length < SHORTEST || isSending) return
    setPin('')
    // lets the user continue typing
    input.current?.focus()
    onPin(pin)
  }
  return (
    <form class="stack" onSubmit={send}>
      <input
        ref={input}
        class="input pin"
        type="password"
        inputMode="none"
        autocomplete="off"
        aria-label={texts.pin}
        maxLength={LONGEST}
        value={pin}
        onInput={({ currentTarget }) => setPin(currentTarget.value.replaceAll(/\D/g, ''))}
      />
      <div class="pin-keys">
        {DIGITS.map((digit) => (
          <Button text={digit} key={digit} onClick={() => add(digit)} />
        ))}
        <Button icon="back" aria-label={texts.erase} onClick={() => setPin((known) => known.slice(0, -1))} />
        <button type="button" class="button" onClick={() => add('0')}>
          0
        </button>
        <Button text={texts.ok} type="submit" is="main" disabled={pin.length < SHORTEST || isSending} />
      </div>
    </form>
  )
}
