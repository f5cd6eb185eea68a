/**
 * What the visitor can do about a call that was refused or failed; undefined where the Detail of the error says it all.
 * @param detail the error object's Detail
 */
export function adviceFor(status: number, detail: string, withToken: boolean): string | undefined {
  // A service may refuse too, with a Detail of its own, and only it knows what helps.
  const byRules = /^(?:Unauthorized|Forbidden) call made to /.test(detail);
  switch (status) {
    case 400:
      return "The Detail says what is wrong. Correct the request and send it again.";
    case 401:
      if (!byRules) return undefined;
      return withToken
        ? "No rule grants this call to your account. An administrator can see why under Rules → Explain."
        : "Nobody may call this without a token. Sign in and send it again.";
    case 403:
      if (!byRules) return undefined;
      return "A rule denies this call to your account. An administrator can see which one under Rules → Explain.";
    case 429:
      return "Too many calls came at once. Wait a moment and send it again.";
    case 502:
      return "The service broke the protocol. Its operator finds the request id in the log.";
    case 503:
      return "The service cannot be reached now. Try again in a moment.";
    case 504:
      return "The service took too long. Its operator finds the request id in the log.";
  }
  return status >= 500 ? "The operator of the service finds the request id in the log." : undefined;
}
