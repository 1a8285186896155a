package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll-go/plimsoll/admin"
	"github.com/plimsoll-go/plimsoll/control"
	"github.com/plimsoll-go/plimsoll/internal/operator"
)

func whyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "why DECISION-ID", Short: "Tell what became of one request", Args: oneArg("id"),
		Long: "The id stands in the Plimsoll-Decision header of an answer, and in the log.",
	}
	return asking(c, func(c *cobra.Command, args []string, client *operator.Client) ([]byte, string, error) {
		var d admin.Decided
		body, err := client.Get(c.Context(), "/v1/decisions/"+url.PathEscape(args[0]), &d)
		return body, operator.Why(&d), err
	})
}

func explainCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "explain --path /", Short: "Tell what each stage would answer to a request; nothing is consumed", Args: noArgs,
		Example: "  plimsoll explain --method POST --path /checkout --header 'Authorization: Bearer …'",
	}
	q := admin.Imagined{}
	f := c.Flags()
	f.StringVar(&q.Method, "method", "GET", "its method")
	f.StringVar(&q.Host, "host", "", "the host that it names")
	f.StringVar(&q.Path, "path", "/", "its path, with the query if there is one")
	f.StringVar(&q.Address, "caller-address", "", "the address that it comes from; default 127.0.0.1")
	headers := f.StringArray("header", nil, "name: value; may be given again")
	return asking(c, func(c *cobra.Command, _ []string, client *operator.Client) ([]byte, string, error) {
		q.Headers = map[string][]string{}
		for _, line := range *headers {
			name, value, ok := strings.Cut(line, ":")
			if !ok || name == "" {
				return nil, "", usageError{fmt.Errorf("--header is given as name: value, got %q", line)}
			}
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			q.Headers[name] = append(q.Headers[name], strings.TrimSpace(value))
		}
		var x admin.Explained
		body, err := client.Post(c.Context(), "/v1/explain", &q, &x)
		return body, operator.Explanation(&x), err
	})
}

func refusalsCommand() *cobra.Command {
	c := &cobra.Command{Use: "refusals", Short: "List the last refusals of a worker", Args: noArgs}
	most := c.Flags().Int("limit", 20, "how many, 1 … 1000")
	return asking(c, func(c *cobra.Command, _ []string, client *operator.Client) ([]byte, string, error) {
		var list struct{ Refusals []admin.Decided }
		body, err := client.Get(c.Context(), fmt.Sprintf("/v1/refusals?limit=%d", *most), &list)
		return body, operator.Refusals(list.Refusals), err
	})
}

func holdersCommand() *cobra.Command {
	c := &cobra.Command{Use: "holders", Short: "List the requests that have been in flight longest", Args: noArgs}
	most := c.Flags().Int("limit", 20, "how many, 1 … 1000")
	return asking(c, func(c *cobra.Command, _ []string, client *operator.Client) ([]byte, string, error) {
		var list struct{ Holders []admin.Held }
		body, err := client.Get(c.Context(), fmt.Sprintf("/v1/holders?limit=%d", *most), &list)
		return body, operator.Holders(list.Holders), err
	})
}

func auditCommand() *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "Read the audit trail, oldest first", Args: noArgs}
	from := c.Flags().Uint64("from", 1, "number of the first record")
	most := c.Flags().Int("limit", 100, "how many, 1 … 1000")
	asking(c, func(c *cobra.Command, _ []string, client *operator.Client) ([]byte, string, error) {
		var trail admin.Trail
		body, err := client.Get(c.Context(), fmt.Sprintf("/v1/audit?cursor=%d&limit=%d", *from, *most), &trail)
		table := operator.Records(trail.Records)
		if trail.Next != "" {
			table += "more: plimsoll audit --from " + trail.Next + "\n"
		}
		return body, table, err
	})
	verify := &cobra.Command{Use: "verify", Short: "Check that nobody altered or removed a record", Args: noArgs}
	d := newDesk(verify)
	verify.RunE = func(c *cobra.Command, _ []string) error {
		client, err := d.client()
		if err != nil {
			return err
		}
		var v control.Verification
		body, err := client.Get(c.Context(), "/v1/audit/verify", &v)
		if err != nil {
			return err
		}
		if err := d.print(c, body, operator.Verified(&v)); err != nil || v.OK() {
			return err
		}
		return errNo
	}
	c.AddCommand(verify)
	return c
}

func reportCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "report --incident INC-1", Short: "Write what is known of an incident as one Markdown document", Args: noArgs,
		Long: "Report needs a token of an auditor or an administrator. Without an incident it tells everything.",
	}
	incident := c.Flags().String("incident", "", "the incident's name")
	file := c.Flags().String("file", "", "where to write it; default the standard output")
	d := newDesk(c)
	c.Flags().Lookup("output").Usage = "table (Markdown), json or yaml"
	c.RunE = func(c *cobra.Command, _ []string) error {
		client, err := d.client()
		if err != nil {
			return err
		}
		var r admin.Report
		body, err := client.Get(c.Context(), "/v1/report?incident="+url.QueryEscape(*incident), &r)
		if err != nil {
			return err
		}
		if *file != "" {
			to, err := os.OpenFile(*file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
			if err != nil {
				return fmt.Errorf("the report: %w", err)
			}
			c.SetOut(to)
			if err := d.print(c, body, operator.Markdown(&r)); err != nil {
				return fmt.Errorf("the report: %w", err)
			}
			return to.Close()
		}
		return d.print(c, body, operator.Markdown(&r))
	}
	return c
}

func tokenCommand() *cobra.Command {
	group := &cobra.Command{
		Use: "token", Short: "Make, list and revoke the keys to the admin API", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	create := &cobra.Command{Use: "create NAME --role ROLE", Short: "Make a token; its secret is shown once", Args: oneArg("name")}
	role := create.Flags().String("role", "", "viewer, auditor, responder or admin")
	_ = create.RegisterFlagCompletionFunc("role", fixed("viewer", "auditor", "responder", "admin"))
	lasts := create.Flags().Duration("for", admin.DefaultTokenTTL, "how long it lasts")
	asking(create, func(c *cobra.Command, args []string, client *operator.Client) ([]byte, string, error) {
		var made admin.Made
		body, err := client.Post(c.Context(), "/v1/tokens", map[string]any{"name": args[0], "role": *role, "ttl_seconds": int64(*lasts / time.Second)}, &made)
		return body, fmt.Sprintf("%s  %s, %s, until %s; shown once:\n%s\n", made.ID, made.Name, made.Role, made.Expires.Format(time.DateOnly), made.Secret), err
	})
	list := &cobra.Command{Use: "list", Short: "List the tokens, without their secrets", Args: noArgs}
	asking(list, func(c *cobra.Command, _ []string, client *operator.Client) ([]byte, string, error) {
		var l struct{ Tokens []admin.Token }
		body, err := client.Get(c.Context(), "/v1/tokens", &l)
		return body, operator.Tokens(l.Tokens, time.Now()), err
	})
	revoke := &cobra.Command{Use: "revoke ID", Short: "End a token now", Args: oneArg("id")}
	asking(revoke, func(c *cobra.Command, args []string, client *operator.Client) ([]byte, string, error) {
		err := client.Delete(c.Context(), "/v1/tokens/"+url.PathEscape(args[0]))
		body, _ := json.Marshal(map[string]string{"revoked": args[0]}) // it is text
		return append(body, '\n'), "revoked " + operator.Clean(args[0]) + "\n", err
	})
	group.AddCommand(create, list, revoke)
	return group
}
