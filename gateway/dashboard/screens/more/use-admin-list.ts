import { useEffect, useRef, useState } from 'preact/hooks'
import { PinCancelled } from '#dashboard/live/pin-prompt.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { ApiError } from '#shared/client.ts'

/**
 * What only an admin is shown: asks who it is where that is needed. `load` is asked again when `key` changes, and every
 * so often: that asks nobody for a PIN, and keeps what is shown when the rights have ended.
 */
export function useAdminList<List>(load: () => Promise<List>, everyMs?: number, key = '') {
  const { gate, line } = useDashboard()
  const [list, setList] = useState<List | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [isTurnedDown, turnDown] = useState(false)
  const asked = useRef(0)
  /** An answer counts unless something else was asked meanwhile. */
  const take = async (answer: Promise<List>) => {
    const number = ++asked.current
    const known = await answer
    if (number === asked.current) setList(known)
  }
  const again = async () => {
    setFault(null)
    turnDown(false)
    try {
      await take(gate.act(load))
    } catch (error) {
      if (error instanceof PinCancelled) turnDown(true)
      else setFault(refusalText(error))
    }
  }
  useEffect(() => void again(), [key])
  const isKept = list !== null && everyMs !== undefined && !isTurnedDown && line.state.value.kind === 'live'
  useEffect(() => {
    if (!isKept) return
    const look = () => take(load()).catch((error: unknown) => error instanceof ApiError && turnDown(true))
    const timer = setInterval(() => void look(), everyMs)
    return () => clearInterval(timer)
  }, [isKept, everyMs, key])
  return { list, fault, isTurnedDown, again }
}
